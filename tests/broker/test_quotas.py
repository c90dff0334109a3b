"""What one node, key or run may take of a broker: a hostile client for each quota, and others whose work goes on."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from broker import keys, streams, watch
from broker.launcher import Server
from common.bus import Bus, BusError, TooManyWaiting, names
from common.bus.permissions import inbox
from common.bus.stored import api
from common.life.node import NodeContext
from common.protocol import subjects
from common.protocol.attempts import Attempt, Purpose
from common.protocol.messages import BrokerFacts
from common.settings import NodeSettings
from node.command.status import _in_words
from tests.background import Background
from tests.broker.keyed import OTHER, RUN, Thief, as_role, keeping, served, thief
from tests.message_values import attempt, named, node_info
from tests.waiting import answered, eventually

pytestmark = pytest.mark.broker

WAITING, CONNECTIONS = 4, 12


@pytest.fixture(scope="module")
def server(background: Background, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A broker with keys, and with small limits."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(streams, "ATTEMPTS_WAITING", WAITING)
        patched.setitem(keys.LIMITS, "max_connections", CONNECTIONS)
        with served(background, tmp_path_factory.mktemp("broker")) as server:
            patched.undo()
            yield server


async def asks(bus: Bus, client: str, number: int, purpose: Purpose = Purpose.EVAL) -> None:
    asked = attempt(f"{client}-{number}", purpose, client=client)
    await bus.publish_durable(subjects.todo(purpose, client), asked, message_id=asked.attempt_id)


async def test_who_has_too_many_attempts_waiting_waits_and_others_go_on(server: Server) -> None:
    async with as_role(server, "ada") as ada, as_role(server, "bob") as bob, as_role(server, "prover") as prover:
        for number in range(WAITING):
            await asks(ada, ada.new_client("eval"), number)
        with pytest.raises(TooManyWaiting, match="as many of yours wait as one client may have"):
            await asks(ada, ada.new_client("eval"), WAITING)
        assert not ada.troubles, "the queue is well"
        await asks(bob, bob.new_client("eval"), 0)
        leases = await prover.lease("todo-asked", Attempt, limit=10, wait=10)
        assert [lease.message.client[:4] for lease in leases] == WAITING * ["ada."] + ["bob."]
        await leases[0].ack()
        await asks(ada, ada.new_client("eval"), WAITING)
        for lease in [*leases[1:], *await prover.lease("todo-asked", Attempt, limit=1, wait=10)]:
            await lease.ack()


async def test_one_request_gets_no_more_leases_than_a_node_can_play(server: Server) -> None:
    async with as_role(server, "learner") as learner, as_role(server, "prover") as prover:
        await asks(learner, "learner", 0)
        async with thief(server, "prover") as someone:
            body = json.dumps({"batch": 1_000_000, "no_wait": True}).encode()
            answer = await someone.client.request(f"$JS.API.CONSUMER.MSG.NEXT.{RUN}-todo.todo-eval", body, timeout=10)
            assert "MaxRequestBatch" in (answer.headers or {})["Description"]
        (lease,) = await prover.lease("todo-eval", Attempt, limit=1_000_000, wait=10)
        await lease.ack()


async def test_a_run_that_takes_all_it_can_get_leaves_the_other_runs_alone(server: Server) -> None:
    async with as_role(server, "admin") as admin, as_role(server, "learner", OTHER) as other:
        # 1. Streams.
        made = 0
        with pytest.raises(BusError, match="maximum number of streams reached"):
            for made in range(100):
                stream = {"name": f"x{made}", "subjects": [f"{RUN}.x{made}"]}
                await api(admin._replies, f"STREAM.CREATE.x{made}", stream)
        assert made == keys.MOST_STREAMS - len(names.streams_of(RUN))
        for number in range(made):
            await api(admin._replies, f"STREAM.DELETE.x{number}")
        # 2. Connections.
        taken = []
        try:
            with pytest.raises(Exception, match="maximum account active connections exceeded"):
                for _ in range(100):
                    taken.append(thief(server, "prover"))
                    await taken[-1].__aenter__()
            assert len(taken) == CONNECTIONS + 1  # the last one was refused
            async with as_role(server, "prover", OTHER) as prover:
                await asks(other, "learner", 0)
                assert len(await prover.lease("todo-eval", Attempt, limit=1, wait=10)) == 1
        finally:
            for each in taken[:-1]:
                await each.__aexit__(None, None, None)


async def test_requests_for_attempts_that_outlive_their_sender_are_dropped(server: Server) -> None:
    """Their replies go to a subject that has a reader, so the broker keeps them for ever and gives them attempts."""
    async with as_role(server, "admin") as admin, as_role(server, "prover") as prover:
        keeper = watch.StreamKeeper(keeping(admin))
        async with thief(server, "prover") as someone:
            for _ in range(20):
                subject = f"$JS.API.CONSUMER.MSG.NEXT.{RUN}-todo.todo-train"
                await someone.client.publish(subject, b"", reply=f"{RUN}.theorem.result.stp")
            await someone.client.flush()
        assert (await admin.queues())["todo-train"].pulls == 20
        for _ in range(watch.GHOST_LOOKS):
            await keeper.look()
        assert (await admin.queues())["todo-train"].pulls == 0
        await asks(admin, "learner", 7, Purpose.TRAIN)
        (lease,) = await prover.lease("todo-train", Attempt, limit=1, wait=10)
        await lease.ack()


async def test_attempts_that_are_handed_back_for_a_hundred_years_are_played(server: Server) -> None:
    async with as_role(server, "admin") as admin, as_role(server, "prover") as prover:
        keeper = watch.StreamKeeper(keeping(admin))
        for number in (20, 21):
            await asks(admin, "learner", number, Purpose.TRAIN)
        for lease in await prover.lease("todo-train", Attempt, limit=2, wait=10):
            await lease.hand_back(delay=100 * 365 * 86400)
        await answered(admin.leased, lambda counts: counts["todo-train"] == 2)
        for _ in range(watch.LEASE_LOOKS):
            assert await prover.lease("todo-train", Attempt, limit=2, wait=0) == []
            await keeper.look()
        leases = await prover.lease("todo-train", Attempt, limit=2, wait=10)
        assert {lease.message.attempt_id for lease in leases} == {"learner-20", "learner-21"}
        for lease in leases:
            await lease.ack()


async def test_no_header_lets_a_node_remove_what_others_have_stored(server: Server) -> None:
    async with as_role(server, "inference") as inference, as_role(server, "learner") as learner:
        node = node_info(named("inference-x"), "inference")
        await inference.register(node)
        async with thief(server, "prover") as someone:
            for subject in (f"$KV.{RUN}-nodes.prover.x", f"{RUN}.theorem.result.learner"):
                for headers in ({"Nats-Rollup": "all"}, {"Nats-TTL": "1s"}, {"Nats-Schedule": "@every 1s"}):
                    answer = await someone.client.request(subject, b"x", headers=headers, timeout=10)
                    assert "error" in json.loads(answer.data), (subject, headers)
        assert await learner.nodes() == [node]
        await inference.unregister(node.role, node.node_id)
        assert await learner.nodes() == []


async def test_who_subscribes_to_too_much_is_refused(server: Server) -> None:
    async with thief(server, "prover") as someone:
        for number in range(keys.MOST_SUBSCRIPTIONS + 1):
            await someone.client.subscribe(f"{inbox('prover', someone.key)}.{number}")
        await eventually(lambda: "maximum subscriptions exceeded" in server.log_file.read_text())


async def test_who_floods_or_tries_what_it_may_not_is_named_and_cut_off(server: Server) -> None:
    server.settings.busy_messages = 50
    ctx = NodeContext("broker", NodeSettings(run=RUN))
    watching, flood = watch.ServerWatch(ctx, server), f"{RUN}.telemetry.prover.x.log"

    def told() -> list[str]:
        return list(ctx.facts.offenders) if isinstance(ctx.facts, BrokerFacts) else []

    async def floods(someone: Thief) -> None:
        while not someone.client.is_closed:
            for _ in range(500):
                await someone.client.publish(flood, b"")
            await someone.client.flush()

    async with as_role(server, "prover", OTHER) as honest:
        await watching.look()
        assert told() == []
        async with thief(server, "prover") as someone:
            # 1. What it may not do.
            for _ in range(watch.REFUSALS):
                assert not await someone.may(f"pub $KV.{RUN}-state.weights")
            await watching.look()
            assert f"was refused {watch.REFUSALS} times within a minute" in str(told())
            # 2. A flood of what the role may send, which does not end.
            flooding = asyncio.create_task(floods(someone))
            while "messages a second" not in str(told()):
                await watching.look()
            (busy,) = [each for each in told() if "messages a second" in each]
            assert busy.startswith("the key prover of run demo at 127.0.0.1, called '', sends or gets ")
            assert busy.endswith(f": `proofmesh broker revoke demo prover --store {server.settings.store}` cuts it off")
            shown = list(_in_words(BrokerFacts(offenders=tuple(told()))))
            assert shown == [("offender", each) for each in told()], "as `proofmesh status` shows it"
            # 3. Others' work goes on meanwhile, and after its key is taken back, which ends it at the next look.
            assert await honest.lease("todo-eval", Attempt, limit=1, wait=0) == []
            keys.revoke(server.store, RUN, "prover")
            await watching.look()
            await eventually(lambda: someone.client.is_closed)
            await asyncio.gather(flooding, return_exceptions=True)
        assert await honest.lease("todo-eval", Attempt, limit=1, wait=0) == []


async def test_streams_of_older_versions_get_the_limit_and_an_operator_s_own_stays(server: Server) -> None:
    async with as_role(server, "admin", OTHER) as admin:
        name = names.todo_stream(OTHER)
        for by_hand, kept in ((-1, streams.ATTEMPTS_WAITING), (10**6, 10**6)):
            config = (await api(admin._replies, f"STREAM.INFO.{name}"))["config"]
            changed = {**config, "max_msgs_per_subject": by_hand, "discard_new_per_subject": by_hand > 0}
            await api(admin._replies, f"STREAM.UPDATE.{name}", changed)
            await streams.ensure(admin)
            after = (await api(admin._replies, f"STREAM.INFO.{name}"))["config"]
            assert after["max_msgs_per_subject"] == kept and after["discard_new_per_subject"]
