"""A real REPL behind a pump that does what REPL processes are known for: run as `python faulty.py MODE`.

pretty    answers over many lines, as the community's REPL writes them
garbage   other output before every answer, even in its line
dies      ends at every seventh request
forgets   does not know a proof state at every ninth request
loses     says `Completed` to whatever a tactic leaves
goalless  leaves `goals` out of its answers
WORD-X    for a tactic with X in it: WORD is hangs, floods, eats (memory) or ends
nothing   ends at once
"""

import json
import subprocess
import sys
import time

MODE = sys.argv[1]
NOISE = b'uncaught exception: no\n{"not": "an answer"}\n\n\xff\xfe{ "env": \n\n[1, 2]\n'


def block(stream) -> bytes:
    """What stands before the next blank line; empty at the end."""
    lines: list[bytes] = []
    for line in stream:
        if not line.strip():
            return b"".join(lines)
        lines.append(line)
    return b"".join(lines)


def act(word: str) -> None:
    """Do what ends the exchange."""
    if word == "ends":
        sys.exit(3)
    eaten = []
    while True:
        if word == "floods":
            sys.stdout.buffer.write(b"x" * 2**20)
        elif word == "eats":
            eaten.append(bytearray(b"x") * (16 * 2**20))
            time.sleep(0.01)
        else:
            time.sleep(1)


def changed(answer: dict) -> dict:
    if MODE == "loses" and "goals" in answer:
        return {**answer, "goals": [], "proofStatus": "Completed"}
    if MODE == "goalless":
        return {key: value for key, value in answer.items() if key != "goals"}
    return answer


def main() -> None:
    if MODE == "nothing":
        sys.exit("no library")
    word, _, trigger = MODE.partition("-")
    command = [sys.executable, "-m", "node.command.cli", "repl", "--no-sandbox"]
    repl = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert repl.stdin and repl.stdout
    number = 0
    while request := block(sys.stdin.buffer):
        number += 1
        tactic = json.loads(request).get("tactic", "")
        if trigger and trigger in tactic:
            act(word)
        if MODE == "dies" and number % 7 == 0:
            sys.exit(1)
        repl.stdin.write(request + b"\n")
        repl.stdin.flush()
        answer = changed(json.loads(block(repl.stdout)))
        if MODE == "forgets" and tactic and number % 9 == 0:
            answer = {"message": "Unknown proof state."}
        if MODE == "garbage":
            sys.stdout.buffer.write(NOISE)
        sys.stdout.buffer.write(json.dumps(answer, indent=1 if MODE == "pretty" else None).encode() + b"\n\n")
        sys.stdout.buffer.flush()


main()
