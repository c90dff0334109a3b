"""Signed verdicts: what bears no signature of a verifier is no reply, whoever sends it."""

import itertools
import stat
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from common.bus import BadKey, Bus, BusSettings, RemoteFailure, Signer, Unanswered, connection
from common.bus.signing import KEY_HEADER, SIGNATURE_HEADER, KnownKeys
from common.lean import Theorem
from common.protocol.messages import Busy, Failure, LeanVerifyReply, LeanVerifyRequest, Message, encode
from common.protocol.subjects import LEAN_VERIFY
from tests.background import connected
from tests.forging import Reply, forging
from tests.waiting import eventually

FALSE = LeanVerifyRequest(theorem=Theorem("t", "", "1 = 2"), script="simp_all")
FORGED = LeanVerifyReply(accepted=True, axioms=("propext",), lean_version="4.35.0", rechecked=True)
REJECTED = LeanVerifyReply(accepted=False, reason="simp_all made no progress")


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    return Signer.of_file(tmp_path / "keys" / "verifier.pem")


def test_a_signature_binds_subject_request_and_reply(signer: Signer) -> None:
    known = KnownKeys([signer.public])
    original = ("r.lean.verify", b"request", b"reply")
    headers = signer.headers(*original)
    others = ("other.lean.verify", b"another request", b"another reply")
    for changed in itertools.product((False, True), repeat=3):
        asked = [other if change else same for same, other, change in zip(original, others, changed, strict=True)]
        problem = known.problem(headers, *asked)  # type: ignore[arg-type]
        assert problem == ("its signature is wrong" if any(changed) else "")


def test_only_keys_that_the_asker_knows_count(signer: Signer, tmp_path: Path) -> None:
    stranger = Signer.of_file(tmp_path / "stranger.pem")
    known = KnownKeys([signer.public])
    said = known.problem(stranger.headers("s", b"a", b"b"), "s", b"a", b"b")
    assert said == "it is signed with a key that is not among the run's verifiers"
    claimed = stranger.headers("s", b"a", b"b") | {KEY_HEADER: signer.public}
    assert known.problem(claimed, "s", b"a", b"b") == "its signature is wrong"
    for headers in (None, {}, {KEY_HEADER: signer.public}, {SIGNATURE_HEADER: "AAAA"}):
        assert known.problem(headers, "s", b"a", b"b") == "it is not signed"
    for nonsense in ("", "ÿ", "AAAA", "A" * 10_000):
        assert known.problem({KEY_HEADER: signer.public, SIGNATURE_HEADER: nonsense}, "s", b"a", b"b")


def test_a_key_is_made_once_for_this_user_only_and_what_is_no_key_is_named(tmp_path: Path) -> None:
    file = tmp_path / "run" / "verifier.pem"
    first = Signer.of_file(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and Signer.of_file(file).public == first.public
    assert [each.name for each in file.parent.iterdir()] == ["verifier.pem"]
    with pytest.raises(BadKey, match="cannot be read or made"):
        Signer.of_file(file / "inside.pem")
    file.write_text("secret")
    with pytest.raises(BadKey, match=r"verifier\.pem: not a private key as PEM"):
        Signer.of_file(file)
    other = generate_private_key(SECP256R1())
    file.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(BadKey, match="openssl genpkey -algorithm ed25519"):
        Signer.of_file(file)
    for text in ("secret", "AAAA", "ÿ" * 44):
        with pytest.raises(BadKey, match=r"\[bus\] verifiers: .* is not a public key"):
            KnownKeys([text])


def test_keys_come_from_the_settings_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROOFMESH_VERIFIERS", "b, c,")
    assert BusSettings(verifiers=("a", "b")).verifier_keys() == ("a", "b", "c")


def another(broker: BusSettings, run_name: str, *verifiers: str) -> AbstractAsyncContextManager[Bus]:
    """Another node of the run, with the keys of verifiers in its settings."""
    return connected(BusSettings(url=broker.url, verifiers=verifiers), run_name, "other")


async def verdict(bus: Bus, timeout: float = 20.0) -> LeanVerifyReply:
    return await bus.request(LEAN_VERIFY, FALSE, LeanVerifyReply, timeout=timeout)


async def judging(bus: Bus, signer: Signer, *replies: Message, when: Callable[[], bool] = lambda: True) -> None:
    """Answer requests for verdicts with these, one after the other, each as soon as a condition holds."""
    answers = iter(replies)

    async def judge(_: LeanVerifyRequest) -> Message:
        await eventually(when)
        return next(answers)

    await bus.serve(LEAN_VERIFY, LeanVerifyRequest, judge, queue="lean-proxy", limit=4, signer=signer)


def unsigned() -> float:
    return float(next(each.value for metric in connection.UNSIGNED.collect() for each in metric.samples))


async def test_forged_verdicts_are_counted_and_do_not_end_the_wait(
    bus: Bus, broker: BusSettings, run_name: str, signer: Signer, tmp_path: Path
) -> None:
    stranger = Signer.of_file(tmp_path / "stranger.pem")
    subject = f"{run_name}.{LEAN_VERIFY}"
    request, forged = encode(FALSE), encode(FORGED)
    replies: list[Reply] = [
        (FORGED, {}),
        (FORGED, stranger.headers(subject, request, forged)),
        (FORGED, stranger.headers(subject, request, forged) | {KEY_HEADER: signer.public}),
        (FORGED, signer.headers(subject, request, encode(REJECTED))),  # a signature that was meant for another verdict
        (Busy(retry_after=0.0), {}),
        (Failure(reason="the statement is bad"), {}),
    ]
    before = unsigned()
    async with another(broker, run_name, signer.public) as asker, forging(broker, run_name, *replies):
        # The honest verdict comes when all forged ones have been read: two connections promise no order.
        await judging(bus, signer, REJECTED, when=lambda: unsigned() - before >= len(replies))
        assert await verdict(asker) == REJECTED
    assert unsigned() - before == len(replies)


async def test_signed_failures_and_busy_count(bus: Bus, broker: BusSettings, run_name: str, signer: Signer) -> None:
    await judging(bus, signer, Busy(retry_after=0.0), Failure(reason="no such namespace"))
    async with another(broker, run_name, signer.public) as asker:
        with pytest.raises(RemoteFailure, match="no such namespace"):
            await asker.request_patiently(LEAN_VERIFY, FALSE, LeanVerifyReply, timeout=20, deadline=20)


async def test_without_a_verifiers_usable_key_there_is_no_verdict(bus: Bus, broker: BusSettings, run_name: str) -> None:
    async with forging(broker, run_name, (FORGED, {})):
        with pytest.raises(Unanswered, match=f"run '{run_name}' lists no verifier, so no verdict counts"):
            await verdict(bus)
    await bus.list_verifiers(["secret"])
    with pytest.raises(Unanswered, match="lists a verifier that cannot be used"):
        await verdict(bus)

    async def judge(_: LeanVerifyRequest) -> Message:
        return FORGED

    with pytest.raises(AssertionError, match="must be signed"):
        await bus.serve(LEAN_VERIFY, LeanVerifyRequest, judge, queue=None, limit=1)


async def test_a_changed_list_on_the_broker_changes_nothing_for_nodes_that_know_their_verifiers(
    bus: Bus, broker: BusSettings, run_name: str, signer: Signer, tmp_path: Path
) -> None:
    stranger = Signer.of_file(tmp_path / "stranger.pem")
    await bus.list_verifiers([signer.public])
    assert (await bus.verifiers()).keys == (signer.public,)
    async with another(broker, run_name, signer.public) as configured:
        await configured.list_verifiers([stranger.public])  # everybody with the password can do this
        await judging(bus, stranger, FORGED, FORGED)
        for asker in (configured, bus):  # by its settings; by the list that it has read before
            with pytest.raises(Unanswered, match="which do not count"):
                await verdict(asker, timeout=0.4)
