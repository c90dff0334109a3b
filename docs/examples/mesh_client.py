"""Has proofs verified by the lean-proxies of a running mesh: `python mesh_client.py nats://127.0.0.1:4222 demo KEY`.

KEY is the verifier's public key, which the lean-proxy logs. It needs three packages: nats-py, msgpack and cryptography.
"""

import asyncio
import base64
import hashlib
import sys
import time

import msgpack
import nats
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from nats.errors import NoRespondersError, TimeoutError

VERSION = 3  # the schema version that this program knows
TIMEOUT = 60.0  # seconds without a reply after which a request is sent again
PATIENCE = 600.0  # seconds until this program gives up


def signed(answer, subject, payload, key):
    """Whether the verifier has signed this reply to this request: anybody with the broker's password can send one."""
    digests = hashlib.sha256(payload).digest(), hashlib.sha256(answer.data).digest()
    content = b"\0".join((b"proofmesh 1", subject.encode(), *digests))
    try:
        signature = base64.b64decode((answer.headers or {})["Proofmesh-Signature"])
        Ed25519PublicKey.from_public_bytes(base64.b64decode(key)).verify(signature, content)
    except (KeyError, ValueError, InvalidSignature):
        return False
    return True


async def ask(client, subject, request, key):
    """Send a request until the verifier answers it, and return the reply as a dict."""
    payload = msgpack.packb({"v": VERSION, **request})
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        pause = 1.0
        try:
            answer = await client.request(subject, payload, timeout=TIMEOUT)
        except (NoRespondersError, TimeoutError):
            pass  # no node serves the subject now, or the node was lost: a request may be sent twice
        else:
            if not signed(answer, subject, payload, key):
                print("a reply without the verifier's signature does not count", file=sys.stderr)
                await asyncio.sleep(pause)
                continue
            reply = msgpack.unpackb(answer.data)
            if reply["v"] != VERSION:
                sys.exit(f"the mesh speaks version {reply['v']}, and this program version {VERSION}")
            if reply["type"] == "Failure":
                sys.exit(f"{subject} failed ({reply.get('kind', 'error')}): {reply['reason']}")
            if reply["type"] != "Busy":
                return reply
            pause = reply["retry_after"]
        await asyncio.sleep(pause)
    sys.exit(f"no node has answered on {subject}")


async def main(url, run, key):
    client = await nats.connect(url)
    theorem = {"name": "swap", "binders": "(p q : Prop)", "conclusion": "p ∧ q → q ∧ p"}
    for script in ("exact fun h => ⟨h.2, h.1⟩", "exact fun h => h"):
        request = {"type": "LeanVerifyRequest", "theorem": theorem, "script": script}
        reply = await ask(client, f"{run}.lean.verify", request, key)
        print("accepted" if reply["accepted"] else "refused", script, reply.get("axioms", []), sep=" | ")
    await client.close()


asyncio.run(main(*sys.argv[1:]))
