import json
import logging as standard
import re
from pathlib import Path

import pytest
import structlog

from common.life import logging
from common.protocol.messages import encode
from common.watch.logs import in_words, parsed
from tests.files import limited_files
from tests.hostile import SURROGATE, harmless, harmless_and_whole


def test_records_reach_the_file_and_the_forwarder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forwarder = logging.Forwarder("prover", "p1")
    logging.configure("info", file=tmp_path / "logs" / "p1.log", forwarder=forwarder, bound={"node": "p1"})
    structlog.get_logger("x").info("search done", simulations=16)
    structlog.get_logger("x").debug("not this")
    standard.getLogger("library").warning("from %s", "elsewhere")
    lines = [json.loads(line) for line in (tmp_path / "logs" / "p1.log").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["search done", "from elsewhere"]
    assert (lines[0]["simulations"], lines[0]["node"], lines[0]["level"]) == (16, "p1", "info")
    records = forwarder.take(10)
    assert [record.event for record in records] == ["search done", "from elsewhere"]
    assert records[0].fields["simulations"] == "16" and forwarder.take(10) == []
    with pytest.raises(ValueError, match="debug, info, warning, error"):
        logging.configure("loud")


@pytest.mark.parametrize("json_lines", [False, True])
def test_no_log_has_the_password_of_a_url(tmp_path: Path, capsys: pytest.CaptureFixture[str], json_lines: bool) -> None:
    url, forwarder = "nats://mesh:PASSWORD@h:4222", logging.Forwarder("prover", "p1")
    logging.configure("info", file=tmp_path / "log", forwarder=forwarder, json_lines=json_lines)
    try:
        raise ValueError(f"no broker at {url}")
    except ValueError as error:
        structlog.get_logger("x").exception(f"lost {url}", url=url, urls=[url], by={"url": (url,)}, error=error, n=1)
    standard.getLogger("library").warning("from %s", url)
    (first, _) = records = forwarder.take(10)
    texts = [capsys.readouterr().err, (tmp_path / "log").read_text(), *(str(record) for record in records)]
    assert all("PASSWORD" not in text and "nats://h:4222" in text for text in texts)
    assert all("ValueError: no broker" in text for text in texts[:2]), "with the traceback"
    assert first.fields["urls"] == "['nats://h:4222']" and first.fields["n"] == "1"


def test_a_full_queue_drops_the_oldest_and_counts_them() -> None:
    before = logging._dropped._value.get()
    forwarder = logging.Forwarder("prover", "p1")
    for number in range(logging.FORWARD_QUEUE + 5):
        forwarder.add("info", f"event {number}", {})
    records = forwarder.take(10**6)
    assert (len(records), records[0].event) == (logging.FORWARD_QUEUE, "event 5")
    assert logging._dropped._value.get() - before == 5


def test_a_flood_is_told_as_a_count_and_hides_no_other_message(monkeypatch: pytest.MonkeyPatch) -> None:
    forwarder, now = logging.Forwarder("prover", "p1"), 0.0
    logging.configure("debug", forwarder=forwarder)
    monkeypatch.setattr(logging._limit, "_clock", lambda: now)
    log = structlog.get_logger("x")
    for number in range(logging.MOST_A_MINUTE + 7):
        log.warning("flood", number=number)
        log.debug("asked for", number=number)
    log.info("another")
    assert len([each for each in forwarder.take(1000) if each.event == "flood"]) == logging.MOST_A_MINUTE
    logging.tell_left_out()
    assert not forwarder.take(1000), "its minute is not over"
    now = 60.0
    logging.tell_left_out()
    logging.tell_left_out(at_once=True)
    (told,) = forwarder.take(1000)
    assert (told.event, told.level, told.fields["left_out"]) == ("flood", "warning", "7")
    log.warning("flood")
    assert "left_out" not in forwarder.take(1)[0].fields


def test_a_full_log_file_is_put_aside_and_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "FILE_BYTES", 2000)
    logging.configure("info", file=tmp_path / "p1.log")
    for number in range(200):
        structlog.get_logger("x").info(f"line {number}", number=number)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["p1.log", "p1.log.1", "p1.log.2", "p1.log.3"]
    assert all(file.stat().st_size <= 2000 for file in files)
    numbers = [json.loads(line)["number"] for file in reversed(files) for line in file.read_text().splitlines()]
    assert numbers == list(range(numbers[0], 200)) and numbers[0] > 0


def test_a_line_that_the_file_does_not_take_is_counted_and_ends_nothing(tmp_path: Path) -> None:
    logging.configure("info", file=tmp_path / "p1.log")
    before = logging._unwritten._value.get()
    with limited_files(0):
        structlog.get_logger("x").info("lost")
    assert logging._unwritten._value.get() > before  # standard error is a file here, too
    structlog.get_logger("x").info("kept")
    assert "kept" in (tmp_path / "p1.log").read_text()


def test_a_log_of_another_process_is_put_aside_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "FILE_BACKUPS", 2)
    path = tmp_path / "child.log"
    with path.open("ab", buffering=0) as file:  # as a child has it
        for turn in range(4):
            file.write(b"%d" % turn * 100)
            assert not logging.keep_small(path, limit=100)
            file.write(b"\n")
            assert logging.keep_small(path, limit=100)
        file.write(b"now\n")
    assert path.read_bytes() == b"now\n" and (tmp_path / "child.log.1").read_bytes() == b"3" * 100 + b"\n"
    assert (tmp_path / "child.log.2").read_bytes() == b"2" * 100 + b"\n" and len(list(tmp_path.iterdir())) == 3
    assert not logging.keep_small(tmp_path / "missing.log", limit=0)


def test_no_value_controls_the_terminal_or_forges_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forwarder = logging.Forwarder("prover", "p1")
    logging.configure("info", file=tmp_path / "log", forwarder=forwarder)
    forged = "12:00:00 [info     ] all proofs accepted"
    hostile = f"{SURROGATE}\n{forged}"
    try:
        raise ValueError(hostile)
    except ValueError:
        structlog.get_logger("x").exception(hostile, name=hostile, file=Path(hostile), each=[hostile], none=None, n=1.5)
    standard.getLogger("library").warning(hostile)
    shown = capsys.readouterr().err
    assert harmless_and_whole(shown) and "none=None" in shown and "n=1.5" in shown
    assert not [line for line in shown.splitlines() if line.startswith(forged)]
    # The file is JSON, a line for each record, and the text is exact in it.
    written = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["event"] for line in written] == [hostile, hostile]
    assert harmless("\n".join(written))
    # Records go to the monitor as UTF-8, which has no lone surrogates.
    assert all(encode(record) for record in forwarder.take(10))


def test_standard_error_gets_dated_json_lines_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    logging.configure("info", json_lines=True, bound={"node": "p1"})
    structlog.get_logger("x").info("search done", simulations=16, name="a b\nc")
    try:
        raise ValueError("broken")
    except ValueError:
        structlog.get_logger("x").exception("failed")
    first, second = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (first["event"], first["simulations"], first["level"], first["node"]) == ("search done", 16, "info", "p1")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", first["timestamp"]) and first["time"] > 1e9
    assert "ValueError: broken" in second["exception"]
    said = in_words(parsed(json.dumps(second).encode(), "prover")).splitlines()
    assert said[0].endswith("error   p1 failed") and said[-1] == "ValueError: broken"


@pytest.mark.parametrize("line", ["plain words", "123", '{"other": "json"}', "[1, 2]", '{"event": "x", "time": []}'])
def test_what_is_no_line_of_a_log_stays_as_it_is_for_people(line: str) -> None:
    assert in_words(parsed(line.encode(), "prover")) == line
