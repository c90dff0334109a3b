"""Keys: what each role can do on a real broker, and what not, from the table that makes the broker's permissions."""

import asyncio
import re
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker import binary, keys, streams
from broker.command import main
from broker.launcher import Server, _read_ports
from common.bus import Bus, BusError, BusSettings, NotAllowed, Role, Signer, names
from common.bus.credentials import NodeKey, announcers
from common.bus.permissions import rights
from common.bus.signing import KEY_HEADER, TIME_HEADER, Identity
from common.life.process import kill_group, spawn_child
from common.protocol import messages, subjects
from common.protocol.attempts import Attempt, AttemptResult
from common.protocol.messages import (
    Heartbeat,
    LogRecord,
    Message,
    PauseAcknowledged,
    PauseHold,
    PauseRequest,
    decode,
    encode,
)
from common.settings import Invite
from tests.background import Background, connected, started
from tests.broker.keyed import OTHER, RUN, as_role, covers, keyed, served, thief, with_streams
from tests.commands import Called
from tests.message_values import attempt, example_of, heartbeat, named, node_info
from tests.waiting import answered, eventually

pytestmark = pytest.mark.broker

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
ROLES = [role for role in Role if role is not Role.ADMIN]


@pytest.fixture(scope="module")
def server(background: Background, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A broker with the keys of two runs, and two invited clients."""
    with served(background, tmp_path_factory.mktemp("broker")) as server:
        yield server


def concrete(pattern: str) -> str:
    """A subject that a pattern of the permissions stands for."""
    return re.sub(r"\.>$", ".y.z", pattern.replace("*", "x")) if pattern != ">" else "anything"


EVERYTHING = [
    *(f"pub {concrete(pattern)}" for role in ROLES for pattern in rights(role, RUN).publish),
    *(f"sub {concrete(pattern)}" for role in ROLES for pattern in rights(role, RUN).subscribe),
    *(f"pub $JS.API.STREAM.{verb}.{stream}" for verb in ("CREATE", "DELETE", "PURGE", "UPDATE", "MSG.DELETE")
      for stream in names.streams_of(RUN)),
    *(f"pub $JS.API.CONSUMER.{verb}.{RUN}-todo.todo-train" for verb in ("CREATE", "DURABLE.CREATE", "DELETE", "PAUSE")),
    *(f"pub $JS.API.{call}" for call in (f"CONSUMER.CREATE.{RUN}-answers", f"CONSUMER.NAMES.{RUN}-answers",
      f"CONSUMER.CREATE.{RUN}-answers.x.{RUN}.theorem.result.>", f"DIRECT.GET.{RUN}-answers",
      f"STREAM.MSG.GET.{RUN}-todo", f"STREAM.MSG.GET.{RUN}-results", "STREAM.LIST", "STREAM.NAMES", "INFO")),
    *(f"pub {subject}" for subject in (f"{RUN}.theorem.todo.train.of.ada", f"{OTHER}.tactic.request", "x",
      "_INBOX.learner.x", f"$KV.{RUN}-nodes.learner.x", f"$KV.{RUN}-nodes.broker.x",
      f"{RUN}.telemetry.broker.x.heartbeat")),
    *(f"sub {subject}" for subject in (">", f"{RUN}.>", "_INBOX.>", "$JS.>", "$KV.>", "$SYS.>", f"{RUN}.theorem.>",
      f"{RUN}.lean.run", f"{RUN}.lean.verify", f"{RUN}.tactic.request", f"{OTHER}.telemetry.*.*.heartbeat")),
]  # fmt: skip
"""What one of the roles may do, and calls that only the admin may make."""


def allowed(role: Role, key: str, action: str) -> bool:
    """What the permissions say of an action."""
    kind, subject = action.split(" ", 1)
    own = rights(role, RUN, key=key)
    if kind == "pub":
        return any(covers(pattern, subject) for pattern in own.publish)
    given, _, group = subject.partition(" ")
    patterns = [pattern.partition(" ") for pattern in own.subscribe]
    return any(covers(pattern, given) and named in ("", group) for pattern, _, named in patterns)


@pytest.mark.parametrize("role", ROLES)
async def test_a_stolen_key_does_what_its_role_may_and_nothing_else(server: Server, role: Role) -> None:
    rows = list(dict.fromkeys(EVERYTHING))
    before = server.log_file.read_text().count(" Violation ")
    async with thief(server, role) as someone:
        could = [row for row in rows if await someone.may(row)]
        assert could == [row for row in rows if allowed(role, someone.key, row)]
    refused = len(rows) - len(could)
    assert refused >= 40 and server.log_file.read_text().count(" Violation ") - before == refused


ATTACKS = {
    "a prover answers what verifiers are asked": ("prover", f"sub {RUN}.lean.verify"),
    "and takes verifiers' requests away from them": ("prover", f"sub {RUN}.lean.verify lean-proxy"),
    "a lean-proxy without a verifier's key does so": ("lean-proxy", f"sub {RUN}.lean.verify lean-proxy"),
    "a verifier copies what other verifiers are asked": ("verifier", f"sub {RUN}.lean.verify"),
    "a prover answers the learner in somebody's place": ("prover", "pub _INBOX.learner.n.1"),
    "a prover hears what the learner is answered": ("prover", "sub _INBOX.learner.>"),
    "a prover hears what other provers are given": ("prover", "sub _INBOX.prover.>"),
    "a prover says which weights to load": ("prover", f"pub $KV.{RUN}-state.weights"),
    "a prover pauses inference until 2096": ("prover", f"pub $KV.{RUN}-state.pause"),
    "a prover names itself a verifier": ("prover", f"pub $KV.{RUN}-state.verifiers"),
    "a lean-proxy names itself a verifier": ("lean-proxy", f"pub $KV.{RUN}-state.verifiers"),
    "a verifier says who else is one": ("verifier", f"pub $KV.{RUN}-state.verifiers"),
    "a prover purges the results": ("prover", f"pub $JS.API.STREAM.PURGE.{RUN}-results"),
    "a prover deletes the queue": ("prover", f"pub $JS.API.STREAM.DELETE.{RUN}-todo"),
    "the learner deletes the queue": ("learner", f"pub $JS.API.STREAM.DELETE.{RUN}-todo"),
    "a client lets the mesh train on what it likes": ("client", f"pub {RUN}.theorem.todo.train.learner"),
    "a client reads all results": ("client", f"pub $JS.API.DIRECT.GET.{RUN}-answers"),
    "a client makes a consumer that delivers to anybody": ("client", f"pub $JS.API.CONSUMER.CREATE.{RUN}-answers"),
    "a client hears results of others": ("client", f"sub {RUN}.theorem.result.ada.*.*.*"),
    "a client takes the learner's results": ("client", f"pub $JS.API.CONSUMER.MSG.NEXT.{RUN}-results.results-learner"),
    "a client reports a result": ("client", f"pub {RUN}.theorem.result.learner"),
    "a prover runs snippets": ("prover", f"pub {RUN}.lean.check"),
    "a prover draws a loss of NaN on the monitor": ("prover", f"pub {RUN}.telemetry.learner.x.point"),
    "a prover registers as a lean-proxy": ("prover", f"pub $KV.{RUN}-nodes.lean-proxy.x"),
    "a prover lets the broker send its own words to anybody": ("prover", f"pub $JS.API.DIRECT.GET.KV_{RUN}-nodes"),
    "the learner has other nodes write what is in their memory": ("learner", f"pub {RUN}.{subjects.DIAGNOSIS}"),
    "a client fills the logs of nodes": ("client", f"pub {RUN}.{subjects.DIAGNOSIS}"),
    "a viewer writes anything at all": ("viewer", f"pub {RUN}.telemetry.ui.x.heartbeat"),
    "inference reads the queue": ("inference", f"pub $JS.API.CONSUMER.MSG.NEXT.{RUN}-todo.todo-train"),
    "inference writes weights": ("inference", f"pub $O.{RUN}-weights.C.x"),
}  # fmt: skip


async def test_the_attacks_that_were_once_possible_are_refused(server: Server) -> None:
    for attack, (role, action) in ATTACKS.items():
        async with thief(server, role) as someone:
            assert not await someone.may(action), attack


async def test_the_admin_of_a_run_reaches_no_other_run(server: Server) -> None:
    async with as_role(server, "admin") as bus, as_role(server, "learner", OTHER) as other:
        await other.put_state("pause", PauseHold(epoch=1, seconds=5.0))
        assert list(await bus.runs()) == [RUN]
        key = str(keys.folder_of(server.store, RUN) / "admin.nk")
        async with connected(BusSettings(server.bus.url, key=key), OTHER, role="admin") as foreign:
            for reach in (foreign.get_state("pause", PauseHold), foreign.nodes(), foreign.backlog()):
                with pytest.raises(BusError):
                    await reach
            await foreign.remove()
        assert await other.get_state("pause", PauseHold) == PauseHold(epoch=1, seconds=5.0)


async def test_each_role_does_its_work_with_its_key(server: Server, tmp_path: Path) -> None:
    """What its nodes and commands do over the bus; tests/node/mesh/test_whole_mesh.py plays whole runs."""
    before = server.log_file.read_text().count(" Violation ")
    async with (
        as_role(server, "admin") as admin, as_role(server, "learner") as learner, as_role(server, "prover") as prover,
        as_role(server, "inference") as inference, as_role(server, "verifier") as verifier,
        as_role(server, "lean-proxy") as proxy, as_role(server, "ada") as ada, as_role(server, "ui") as ui,
        as_role(server, "viewer") as viewer,
    ):  # fmt: skip
        # 1. Every node registers and sends telemetry; monitors and commands read it.
        beats: list[Message] = []
        await ui.subscribe(subjects.telemetry("*", "*", "heartbeat"), Heartbeat, lambda _, m: beats.append(m))
        nodes = {"learner": learner, "prover": prover, "inference": inference, "ui": ui}
        for role, bus in (*nodes.items(), ("lean-proxy", proxy), ("lean-proxy", verifier)):
            await bus.register(node_info(named(role), role))
            await bus.publish(subjects.telemetry(role, named(role), "heartbeat"), heartbeat(named(role), role))
        await eventually(lambda: len(beats) == 6)
        await learner.publish(subjects.telemetry("learner", named("learner"), "point"), example_of(messages.Point))
        for reader in (ui, learner, ada, viewer):
            assert len(await reader.nodes()) == 5
        await answered(lambda: ui.history(messages.Point), bool)
        # 2. The learner's attempts go to provers, and their results to the learner; a client has its own.
        client = ada.new_client("eval")
        results: list[Message] = []
        await ada.watch_results(client, (AttemptResult,), results.append, list)
        for asker, name in ((learner, "learner"), (ada, client)):
            asked = attempt(f"of-{name}", "eval", client=name)
            await asker.publish_durable(subjects.todo(asked.purpose, name), asked, message_id=asked.attempt_id)
        for queue in ("eval", "asked"):
            (lease,) = await prover.lease(f"todo-{queue}", Attempt, limit=1, wait=10)
            await lease.in_progress()
            answer = msgspec.structs.replace(example_of(AttemptResult), attempt_id=lease.message.attempt_id)
            to = subjects.to_client(lease.message.client, answer.attempt_id, 0)
            await prover.publish_durable(to, answer, message_id=answer.attempt_id)
            await lease.ack()
        (lease,) = await learner.lease("results-learner", AttemptResult, limit=1, wait=10)
        await lease.ack()
        await eventually(lambda: len(results) == 1)
        late: list[Message] = []
        await ada.watch_results(client, (AttemptResult,), late.append, lambda: [f"of-{client}"])
        assert late == results
        assert sum((await ada.backlog()).values()) + sum((await learner.leased()).values()) == 0
        # 3. Requests, verdicts among them, whose key the broker lists.
        signer = Signer.of_file(tmp_path / "key.pem")
        await admin.list_verifiers([signer.public])
        assert await verifier.get_state(subjects.VERIFIERS, messages.VerifierKeys) is not None
        for server_of, subject, request, reply, queue in (
            (proxy, subjects.LEAN_RUN, messages.LeanRunRequest, messages.LeanRunReply, "lean-proxy"),
            (verifier, subjects.LEAN_VERIFY, messages.LeanVerifyRequest, messages.LeanVerifyReply, "lean-proxy"),
            (inference, subjects.PAUSE, PauseRequest, PauseAcknowledged, None),
        ):

            async def answer_it(_: Message, reply: type[Message] = reply) -> Message:
                return example_of(reply)

            signing = signer if server_of is verifier else None
            await server_of.serve(subject, request, answer_it, queue=queue, limit=4, signer=signing)
        await prover.request(subjects.LEAN_RUN, example_of(messages.LeanRunRequest), messages.LeanRunReply, timeout=10)
        unproved = example_of(messages.LeanVerifyRequest)
        for asker in (learner, prover, ada):
            await asker.request(subjects.LEAN_VERIFY, unproved, messages.LeanVerifyReply, timeout=10)
        pause = PauseRequest(epoch=1, seconds=1.0)
        assert len(await learner.gather_acks(subjects.PAUSE, pause, PauseAcknowledged, expected=1, timeout=10)) == 1
        # 4. Weights and state from the learner to inference.
        seen: list[Message | None] = []
        await inference.watch_state("weights", messages.WeightsState, seen.append)
        (tmp_path / "weights").write_bytes(b"w" * 300_000)
        await learner.grow_objects(2, 300_000)
        digest = await learner.put_object("w1", tmp_path / "weights")
        await learner.put_state("weights", example_of(messages.WeightsState))
        await eventually(lambda: bool(seen) and seen[-1] is not None)
        await inference.get_object("w1", tmp_path / "again", digest=digest)
        assert await learner.has_object("w1")
        await learner.delete_object("w1")
        # 5. The broker's node and commands.
        await streams.ensure(admin)
        await viewer.clock_ahead()
        assert list(await viewer.runs()) == [RUN]
        # 6. What the operator asks nodes reaches them in all accounts, once, and they answer in their logs.
        heard: list[Message] = []
        for node in (prover, ui, learner, inference):
            await node.subscribe(subjects.DIAGNOSIS, messages.DiagnosisRequest, lambda _, m: heard.append(m))
        await admin.subscribe(subjects.telemetry("*", "*", "log"), LogRecord, lambda _, m: heard.append(m))
        await admin.publish(subjects.DIAGNOSIS, example_of(messages.DiagnosisRequest))
        for node, role in ((prover, "prover"), (ui, "ui"), (learner, "learner")):
            record = msgspec.structs.replace(example_of(LogRecord), role=role, node_id=named(role))
            await node.publish(subjects.telemetry(role, named(role), "log"), record)
        await eventually(lambda: len(heard) >= 7, what="questions and answers")
        assert Counter(type(each) for each in heard) == {messages.DiagnosisRequest: 4, LogRecord: 3}
    assert server.log_file.read_text().count(" Violation ") == before


async def test_inference_follows_only_what_a_learner_has_announced(server: Server, tmp_path: Path) -> None:
    states = [msgspec.structs.replace(example_of(messages.WeightsState), version=version) for version in (1, 2, 3, 99)]
    first, second, third, forged = states
    key, entry, nodes = f"$KV.{RUN}-state.weights", f"$KV.{RUN}-nodes.ui.x", f"$JS.API.DIRECT.GET.KV_{RUN}-nodes"
    async with (
        as_role(server, "learner") as learner, as_role(server, "inference") as inference,
        thief(server, "ui") as ui, thief(server, "admin") as admin,
    ):  # fmt: skip
        seen: list[messages.WeightsState | None] = []
        await inference.watch_state("weights", messages.WeightsState, seen.append)

        async def stored() -> Any:
            return await admin.client.request(f"$JS.API.DIRECT.GET.KV_{RUN}-state.{key}")

        async def refused(why: str) -> None:
            await eventually(lambda: why in inference.troubles.get("announcement of weights", ""), what=why)
            assert await inference.get_state("weights", messages.WeightsState) is None and seen[-1] == second
            assert await learner.get_state("weights", messages.WeightsState) is None  # so it announces again

        await learner.put_state("weights", first)
        earlier = await stored()
        await learner.put_state("weights", second)
        await eventually(lambda: seen[-1:] == [second] and not inference.troubles)
        # 1. The broker does not send what a monitor's key has stored to where that may not write.
        await ui.client.request(entry, encode(forged))
        await ui.client.publish(nodes, b'{"last_by_subj": "%s"}' % entry.encode(), reply=key)
        await ui.client.request(entry, encode(forged))
        assert decode((await stored()).data, messages.WeightsState) == second
        await admin.client.publish(key, encode(forged))
        await refused("it is not signed")
        assert decode((await stored()).data, messages.WeightsState) == forged
        # 2. Somebody who may write everything sends an old announcement again, and one with a key of his own.
        await admin.client.publish(key, earlier.data, headers=earlier.headers)
        await refused("a later one was seen before")
        stranger = NodeKey(keys.new_seed()).signer
        signed = {TIME_HEADER: "9" * 17, **stranger.headers(key, b"9" * 17, encode(forged))}
        await admin.client.publish(key, encode(forged), headers=signed)
        await refused("a key that is not among the run's learners")
        # 3. Nor does a pause count that somebody else asks for.
        paused: list[Message] = []

        async def pause(request: PauseRequest) -> Message:
            paused.append(request)
            return PauseAcknowledged(epoch=request.epoch, node_id="i")

        await inference.serve(subjects.PAUSE, PauseRequest, pause, queue=None, limit=4)
        await admin.client.publish(f"{RUN}.{subjects.PAUSE}", encode(PauseRequest(epoch=9, seconds=60.0)))
        asked = PauseRequest(epoch=1, seconds=1.0)
        assert len(await learner.gather_acks(subjects.PAUSE, asked, PauseAcknowledged, expected=1, timeout=10)) == 1
        assert paused == [asked] and list(inference.troubles) == ["announcement of weights"]
        # 4. The learner is heard again; after its key was revoked, it is heard with its new one.
        await learner.put_state("weights", third)
        await eventually(lambda: seen[-1] == third and not inference.troubles)
        keys.revoke(server.store, RUN, "learner")
        await learner.put_state("weights", first)
        await eventually(lambda: "announcement of weights" in inference.troubles)
        await server.take_keys()
    async with as_role(server, "learner") as learner, as_role(server, "inference") as inference:
        await learner.put_state("weights", second)
        assert await inference.get_state("weights", messages.WeightsState) == second and not inference.follows_anybody()
    alone = shutil.copy(keys.folder_of(server.store, RUN) / "inference.nk", tmp_path)
    async with connected(BusSettings(server.bus.url, key=str(alone)), RUN, role="inference") as inference:
        assert inference.follows_anybody(), "it has nothing but its own key"


async def test_a_node_cannot_be_spoken_for_with_another_key_of_its_role(server: Server) -> None:
    me, stranger = named("prover-7"), Identity()
    info, beat = node_info(me), heartbeat(me)
    sick, entry = msgspec.structs.replace(beat, state="unhealthy"), f"$KV.{RUN}-nodes.prover.{me}"
    async with as_role(server, "ui") as ui, as_role(server, "prover") as prover, thief(server, "prover") as other:
        heard: list[Message] = []
        raw: list[Any] = []

        async def record(message: Any) -> None:
            raw.append(message)

        await ui.subscribe(subjects.telemetry("*", "*", "heartbeat"), Heartbeat, lambda _, m: heard.append(m))
        await ui._connection.subscribe(f"{RUN}.telemetry.*.*.heartbeat", record)
        await prover.register(info)
        await prover.publish(subjects.telemetry("prover", me, "heartbeat"), beat)
        await eventually(lambda: heard == [beat] and len(raw) == 1)
        # 1. Its heartbeats: unsigned, with a key of one's own, as if with its key, sent again, under other names.
        mine, sent = raw[0], encode(sick)
        signed = stranger.headers(mine.subject, sent)
        own, learners = (f"{RUN}.telemetry.prover.{stranger.name(role)}.heartbeat" for role in ("prover", "learner"))
        for subject, payload, headers in (
            (mine.subject, sent, None),
            (mine.subject, sent, signed),
            (mine.subject, sent, signed | {KEY_HEADER: mine.headers[KEY_HEADER]}),
            (mine.subject, sent, mine.headers),
            (mine.subject, mine.data, mine.headers),
            (own, sent, stranger.headers(own, sent)),
            (learners, sent, stranger.headers(learners, sent)),
        ):
            await other.client.publish(subject, payload, headers=headers)
        await other.client.flush()
        await prover.publish(subjects.telemetry("prover", me, "heartbeat"), beat)
        await eventually(lambda: len(raw) == 9 and heard == [beat, beat])
        # 2. Its entry in the registry can be overwritten, and is missing until the node renews it.
        ill = encode(msgspec.structs.replace(info, state="unhealthy"))
        for headers in (None, stranger.headers(entry, ill)):
            await other.client.request(entry, ill, headers=headers)
            assert info.node_id not in {node.node_id for node in await ui.nodes()}
        await prover.register(info)
        assert info in await ui.nodes()
        await prover.unregister("prover", me)


DEPUTIES = (
    *(f"$JS.API.STREAM.{verb}.{stream}" for verb in ("DELETE", "PURGE") for stream in names.streams_of(RUN)),
    *(f"$JS.API.CONSUMER.DELETE.{RUN}-{consumer}" for consumer in ("todo.todo-eval", "results.results-learner")),
    f"$KV.{RUN}-state.weights", f"$KV.{RUN}-state.verifiers", f"{RUN}.theorem.todo.train.learner",
)  # fmt: skip
"""Where somebody may let the broker send its replies: it obeys an empty message on the first of them."""


@pytest.mark.parametrize("role", [role for role in ROLES if role not in (Role.LEARNER, Role.STP)])
async def test_the_broker_does_nothing_for_a_key_that_names_where_its_reply_goes(server: Server, role: Role) -> None:
    own = rights(role, RUN, key="U")
    async with thief(server, role) as someone, as_role(server, "admin") as admin:
        before = await what_is_there(admin)
        assert len(before) == len(names.streams_of(RUN))
        for subject in {concrete(pattern) for pattern in own.publish if pattern.startswith("$")}:
            for reply in DEPUTIES:
                for body in (b"", b'{"batch": 1, "no_wait": true}', b'{"seq": 1, "batch": 1}'):
                    await someone.client.publish(subject, body, reply=reply)
        await someone.client.flush()
        await someone.client.close()
        await admin.clock_ahead()
        assert await what_is_there(admin) == before


async def what_is_there(admin: Bus) -> list[tuple[str, int]]:
    """The run's streams, and the numbers of messages in those that DEPUTIES write to. Each consumer answers."""
    await admin.backlog()
    counted = (f"{RUN}-todo", f"KV_{RUN}-state")
    return [(each.name, each.messages if each.name in counted else 0) for each in await admin.streams()]


async def test_a_client_reaches_no_attempt_and_no_result_of_another(server: Server) -> None:
    async with as_role(server, "ada") as ada, as_role(server, "bob") as bob:
        owned = ada.new_client("eval")
        assert owned.startswith("ada.")
        asked = attempt("stolen", "eval", client=owned)
        with pytest.raises(NotAllowed, match="does not let a key of role client publish to"):
            await bob.publish_durable(subjects.todo(asked.purpose, owned), asked, message_id="stolen")
        with pytest.raises(BusError):
            await bob.watch_results(owned, (AttemptResult,), print, list)
        await bob.watch_results(bob.new_client("eval"), (AttemptResult,), print, list)


def test_invites_are_made_and_taken_back(tmp_path: Path, called: Called) -> None:
    store = ("--store", tmp_path)
    told = Invite.read(called(main, "invite", RUN, *store, "--name", "lab", "--url", "nats://h:1").out)
    assert BusSettings(invite=told.text()).learner_keys() == tuple(announcers(keys.folder_of(tmp_path, RUN)))
    assert (told.run, told.url, told.owner, sorted(told.keys)) == (RUN, "nats://h:1", "lab", ["lean-proxy", "prover"])
    listed = {user.public: user for user in keys.users(tmp_path, RUN)}
    user = listed[NodeKey(told.keys["prover"]).public]
    assert (user.role, user.name) == (Role.PROVER, "lab") and told.keys["prover"] not in user.file.read_text()
    assert {stat.S_IMODE(file.stat().st_mode) for file in keys.folder_of(tmp_path, RUN).iterdir()} == {0o600}
    assert called(main, "revoke", RUN, "lab", *store).code == 0
    own = {user.role: user.public for user in keys.users(tmp_path, RUN)}
    assert set(own.values()) == listed.keys() - {NodeKey(seed).public for seed in told.keys.values()}
    assert called(main, "revoke", RUN, "prover", *store).code == 0  # the role gets another key
    assert {user.role for user in keys.users(tmp_path, RUN) if own[user.role] != user.public} == {Role.PROVER}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("invite demo --role judge", "--role: 'judge' is no role; there are: admin, learner"),
        ("invite demo --name Ada!", "--name: 'Ada!': use 1 to 40 lower-case letters"),
        ("invite demo --name there", "there has a key of role prover in run demo: .*revoke demo there"),
        ("revoke demo nobody", "nobody in run demo is called 'nobody'; there are: admin, "),
        ("keys No/Run", "bad run name 'No/Run'"),
    ],
)
def test_what_cannot_be_invited_is_said(tmp_path: Path, called: Called, words: str, says: str) -> None:
    keys.invite(tmp_path, RUN, [Role.PROVER], "there")
    code, _, said = called(main, *words.split(), "--store", tmp_path)
    assert code == 2 and re.search(says, said)


async def test_the_printed_configuration_serves_a_server_of_ones_own(tmp_path: Path, called: Called) -> None:
    (block,) = re.findall(r"(?:^ {4}.*\n)+(?=\nSuch a server)", PAGE.read_text(), re.MULTILINE)
    printed = called(main, "keys", RUN, "--store", "store", "--configuration")
    (tmp_path / "accounts.json").write_text(printed.out)
    (tmp_path / "server.conf").write_text(f'listen: "127.0.0.1:-1"\nports_file_dir: "."\n{block}')
    process = await spawn_child([binary.find(), "--config", "server.conf"], cwd=tmp_path)
    try:
        await eventually(lambda: bool(_read_ports(tmp_path)), what="the ports file")
        settings = BusSettings(url=_read_ports(tmp_path)["nats"][0], key=str(keys.folder_of("store", RUN)))
        async with connected(settings, RUN, role="admin") as bus:
            assert await streams.ensure(bus)
    finally:
        await kill_group(process, grace=0)


async def test_keys_come_and_go_while_the_broker_runs(tmp_path: Path) -> None:
    async with started(keyed(tmp_path)) as server:
        await with_streams(server)
        async with as_role(server, "learner") as learner, as_role(server, "bob") as bob:
            lost = asyncio.Event()
            bob._connection.on_lost.append(lost.set)
            assert not await server.take_keys()
            # 1. A new run and a revoked guest: his connection ends, the others' do not.
            keys.make(server.store, "third")
            keys.revoke(server.store, RUN, "bob")
            assert await server.take_keys()
            await asyncio.wait_for(lost.wait(), 60)
            async with as_role(server, "admin", "third") as third:
                await streams.ensure(third)
            assert learner.connected and await learner.nodes() == []
            with pytest.raises(BusError, match="refused the key of the invite: it was revoked"):
                await as_role(server, "bob").__aenter__()
            bob._connection._closing = True


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (lambda s, f: {}, r"refused the credentials; set \[bus\] key"),
        (lambda s, f: {"user": "u", "password": "p"}, "refused the credentials"),
        (lambda s, f: {"key": str(f / "none")}, r"learner\.nk cannot be read .*broker keys demo"),
        (lambda s, f: {"key": key_file(f, "S" + keys.new_seed()[2:])}, "is no key of a user: one line of 58 letters"),
        (lambda s, f: {"key": key_file(f, keys.new_seed())}, "refused the key of .*own.nk: it was revoked"),
        (lambda s, f: {"key": f"{s.bus.key}/demo/prover.nk"}, "not let .* be a learner: it is a key of"),
        (lambda s, f: {"invite": told("other")}, "the invite is for run other, not for demo"),
        (lambda s, f: {"invite": told("demo")}, "the invite is for prover, not for learner; .*--role learner"),
    ],
)  # fmt: skip
async def test_a_key_that_does_not_fit_is_said_in_one_line(
    server: Server, tmp_path: Path, settings: Callable[[Server, Path], dict[str, Any]], says: str
) -> None:
    with pytest.raises(BusError, match=says) as error:
        wrong = BusSettings(url=server.bus.url, **settings(server, tmp_path))
        await Bus.connect(wrong, run=RUN, name="n", role="learner", wait=10)
    assert "\n" not in str(error.value)


def key_file(folder: Path, text: str) -> str:
    (folder / "own.nk").write_text(text)
    return str(folder / "own.nk")


def told(run: str) -> str:
    return Invite(run, "nats://h:1", "ada", {"prover": keys.new_seed()}).text()
