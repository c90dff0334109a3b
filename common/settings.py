"""Settings that several roles share: the broker's address, the run, logs and metrics, Lean, and sampling."""

from __future__ import annotations

import base64
import json
import os
import re
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar, Literal
from urllib.parse import unquote

from common.limits import Duration, Nucleus, Port, StopTexts, Temperature, Timeout
from common.output.command import UserError


class BadInvite(UserError, ValueError):
    """A text that is no invite."""


@dataclass(frozen=True)
class Invite:
    """What a machine needs to join a run."""

    run: str
    url: str
    """Address of the broker."""
    owner: str
    """The name under which the invited one is known: it can be revoked, and a client asks for attempts under it."""
    keys: dict[str, str] = field(repr=False)
    """Seeds of keys, by role."""
    verifiers: tuple[str, ...] = ()
    """Public keys of the run's verifiers."""
    ca: str = ""
    """The certificate by which the broker's is known, as PEM; empty: the connection is not encrypted."""
    learners: tuple[str, ...] = ()
    """Public keys of the run's learners, who say which weights are loaded."""

    def text(self) -> str:
        """One word of letters, digits, hyphens and underscores."""
        return INVITE + base64.urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> Invite:
        """The invite of a word. Raises BadInvite."""
        word = text.strip()
        try:
            content = base64.urlsafe_b64decode(word.removeprefix(INVITE) + "=" * (-len(word.removeprefix(INVITE)) % 4))
            told = cls(**json.loads(content))
        except (ValueError, TypeError) as error:
            raise BadInvite(
                f"[bus] invite (or PROOFMESH_INVITE): {word[:12]!r}... is no invite, or a part is missing; it is the "
                "whole line that `proofmesh broker invite` prints"
            ) from error
        return replace(told, verifiers=tuple(told.verifiers), learners=tuple(told.learners))

    def only(self, role: str) -> Invite:
        """The same with the key of one role."""
        return replace(self, keys={name: key for name, key in self.keys.items() if name == role})


INVITE = "proofmesh-"
"""Begins every invite."""


@dataclass
class BusSettings:
    """How to reach the broker."""

    url: str = "nats://127.0.0.1:4222"
    """Address of the broker. Separate several servers of one cluster by commas. The user and password, or the token, of
    the first one that has them (`nats://USER:PASSWORD@HOST`, `nats://TOKEN@HOST`) count as the two settings below, for
    all servers."""

    user: str = ""
    """User name; empty takes PROOFMESH_NATS_USER. Required if the broker listens on more than loopback."""

    password: str = field(default="", repr=False)
    """Password, or without a user a token; empty takes PROOFMESH_NATS_PASSWORD, which keeps it out of files and command
    lines."""

    key: str = ""
    """File with the key of this node, or a folder with the keys of a run (`proofmesh broker keys RUN` makes it), of
    which a node takes its role's; empty takes PROOFMESH_KEY. For brokers with keys, instead of user and password."""

    invite: str = field(default="", repr=False)
    """What `proofmesh broker invite` has printed for this machine: the broker's address, the run, its verifiers, and
    keys. Empty takes PROOFMESH_INVITE, which keeps it out of files and command lines."""

    ca: str = ""
    """Certificate (PEM) of the authority that vouches for the broker's certificate, as a file or as text: the
    connection is then encrypted from its first byte. Empty takes PROOFMESH_CA, and what an invite says."""

    certificate: str = ""
    """File with this node's own certificate, for a broker that asks for one ([broker] client_ca). Empty takes
    PROOFMESH_CERTIFICATE."""

    certificate_key: str = ""
    """File with the private key of `certificate`; empty takes PROOFMESH_CERTIFICATE_KEY."""

    broker_name: str = ""
    """The name in the broker's certificate; empty takes PROOFMESH_BROKER_NAME, and else the host of the address."""

    def __post_init__(self) -> None:
        """Take the credentials out of the address, so that no message and no command line can show them. Raises
        BadInvite."""
        if (invite := self.told()) is not None:
            self.url = invite.url if self.url == BusSettings.url else self.url
            self.verifiers = tuple(dict.fromkeys((*self.verifiers, *invite.verifiers)))
            self.learners = tuple(dict.fromkeys((*self.learners, *invite.learners)))
        for name in ("ca", "certificate", "certificate_key", "broker_name"):
            setattr(self, name, getattr(self, name) or os.environ.get(f"PROOFMESH_{name.upper()}", ""))
        self.ca = self.ca or (invite.ca if invite is not None else "")
        addresses, found = [], None
        for server in self.servers():
            scheme, separator, place = server.partition("://") if "://" in server else ("", "", server)
            credentials, at, host = place.rpartition("@")
            found = found or (credentials if at else None)
            addresses.append(f"{scheme}{separator}{host}")
        if found:
            first, colon, second = found.partition(":")
            self.user, self.password = (unquote(first), unquote(second)) if colon else ("", unquote(first))
        self.url = ",".join(addresses)

    verifiers: tuple[str, ...] = ()
    """Public keys of the lean-proxies whose verdicts on proofs count (each logs its own at the start), in addition to
    those in PROOFMESH_VERIFIERS, separated by commas. `proofmesh up` adds the key of its own lean-proxies. Without any,
    a node takes the keys that the run lists on the broker, which on a broker without keys everybody can change."""

    learners: tuple[str, ...] = ()
    """Public keys of the learners and of self-play whose announcements of weights, models and pauses count
    (`proofmesh broker keys RUN` lists them), in addition to those in PROOFMESH_LEARNERS, separated by commas. A node
    with an invite, or whose key is in the folder of the run's keys, knows them already. Without any, every announcement
    counts."""

    def verifier_keys(self) -> tuple[str, ...]:
        """The configured keys of verifiers, each once, from the settings and the environment."""
        return _listed(self.verifiers, "PROOFMESH_VERIFIERS")

    def learner_keys(self) -> tuple[str, ...]:
        """The configured keys of learners, each once, from the settings and the environment."""
        return _listed(self.learners, "PROOFMESH_LEARNERS")

    def told(self) -> Invite | None:
        """The invite of the settings or the environment. Raises BadInvite."""
        text = self.invite or os.environ.get("PROOFMESH_INVITE", "")
        return Invite.read(text) if text else None

    def servers(self) -> list[str]:
        """The list of addresses."""
        return [url.strip() for url in self.url.split(",") if url.strip()]

    def credentials(self) -> tuple[str, str]:
        """User and password, from the settings or the environment; empty strings if there are none. A password without
        a user is a token."""
        if self.password:
            return self.user, self.password
        return self.user or os.environ.get("PROOFMESH_NATS_USER", ""), os.environ.get("PROOFMESH_NATS_PASSWORD", "")


def _listed(keys: tuple[str, ...], variable: str) -> tuple[str, ...]:
    listed = (*keys, *os.environ.get(variable, "").split(","))
    return tuple(dict.fromkeys(key.strip() for key in listed if key.strip()))


@dataclass
class WebSettings:
    """Who may use an HTTP server of ours, and under which names (`common.life.serving`)."""

    section: ClassVar[str] = ""
    """The section of a configuration file that has these settings, for error texts."""

    host: str = "127.0.0.1"
    """Address to listen on."""

    hosts: tuple[str, ...] = ()
    """Further names under which this server is asked, such as a DNS name or a proxy's. Requests for other names than
    the bound address and loopback get 403, as do those of web pages from elsewhere, which could read answers. With a
    token or `client_ca` every name is right: those pages have neither."""

    certificate: str = ""
    """File with the certificate (PEM) of this server, which then speaks only https. A file that is replaced is read
    within 5 seconds."""

    certificate_key: str = ""
    """File with the private key of `certificate`; empty: it is in the same file."""

    client_ca: str = ""
    """File with the certificate of the authority that vouches for clients: each needs a certificate, too."""

    def check(self) -> None:
        """Raises ValueError for a part of the encryption without the certificate."""
        for name in ("certificate_key", "client_ca"):
            if getattr(self, name) and not self.certificate:
                raise ValueError(f"{name}: set `certificate`, too: without it nothing is encrypted")


def token_of(*tokens: str) -> str:
    """The first token that is set, or else that of the environment; empty: none."""
    return next(filter(None, tokens), "") or os.environ.get("PROOFMESH_TOKEN", "")


@dataclass
class LifeSettings(WebSettings):
    """Settings of a node of any role: log, metrics, and how long it waits for the broker at start."""

    section = "node"

    broker_wait: Duration | None = None
    """Seconds to wait for the broker at start; none waits for ever. If the connection is lost later, a node always
    waits for the broker."""

    host: str = "127.0.0.1"
    """Address that /metrics and /healthz listen on. With `0.0.0.0` the registry has this machine's address on the way
    to the broker. Any address except loopback needs a token or `client_ca`."""

    token: str = field(default="", repr=False)
    """What programs that read /metrics send as `Authorization: Bearer TOKEN`; empty takes PROOFMESH_TOKEN. Without
    both none is needed, and the node listens on loopback only. Who does not send it gets `ok` or `unhealthy` from
    /healthz, and no more."""

    metrics_port: Port = 0
    """Port of /metrics and /healthz; 0 takes a free port, which the registry and the log show."""

    log_level: str = "info"
    """Lowest level that is logged: debug, info, warning or error."""

    log_dir: str = ""
    """Folder for a log file of this node (JSON lines); empty writes no file. The log always goes to standard error,
    too."""

    otlp: str = ""
    """Address of an OpenTelemetry collector, such as http://127.0.0.1:4318, that gets the spans of traced attempts
    (OTLP over HTTP, as JSON), besides the run's folder. OTEL_EXPORTER_OTLP_HEADERS has what it wants as headers, as
    NAME=VALUE,NAME=VALUE."""

    log_json: bool = False
    """Write JSON lines to standard error, too, for programs that read logs. `proofmesh up` sets it for its nodes."""

    uvloop: bool = True
    """Run on uvloop. `proofmesh bench bus` compares it with asyncio's own loop on this machine."""


@dataclass
class NodeSettings(LifeSettings):
    """All shared settings of a node: the run, the broker, and LifeSettings."""

    run: str = "demo"
    """Name of the run: lower-case letters, digits and hyphens. Nodes see only nodes of the same run."""

    bus: BusSettings = field(default_factory=BusSettings)
    """How to reach the broker."""


@dataclass
class RunSettings:
    """The run: section [run] of a configuration file."""

    name: str = "demo"
    """Name of the run: lower-case letters, digits and hyphens."""

    dir: str = "runs"
    """Folder that holds run directories."""


# ----------------------------------------------------------------------------------------------------------------------
# Section [lean] of a configuration file: the Lean version, the project, and the header of every theorem.
#
# Everything that runs Lean reads this section: lean-proxies, `prove`, `verify`, ... The flags have the same names:
# `--lean.project PATH`.

POCKET = "pocket"

_URL = re.compile(r"https?://[^\s/]+(?:/\S*)?")
_MODULE = re.compile(r"[\w«»'.-]+")
_OPTION = re.compile(r"([\w.«»]+)\s*=\s*(\"[^\"\n]*\"|[\w.-]+)")


@dataclass
class LeanSettings:
    """The Lean version, the project, and the header of every theorem."""

    project: str = ""
    """Folder of a Lake project (Mathlib, or yours). `lake env` gives the Lean version and the module paths."""

    toolchain: str = ""
    """`pocket` (the embedded Lean), elan's name of a toolchain (leanprover/lean4:v4.20.0), or the folder of a Lean
    installation. Empty: the toolchain in the project's lean-toolchain file; pocket Lean without a project."""

    modules: list[str] = field(default_factory=list)
    """Additional folders with compiled modules (.olean), for code that was built without Lake."""

    imports: list[str] = field(default_factory=list)
    """Modules that are imported for every theorem without its own imports, e.g. Mathlib."""

    opens: list[str] = field(default_factory=list)
    """Namespaces that are opened for every theorem: `Nat`, `scoped Topology`."""

    options: list[str] = field(default_factory=list)
    """Lean options for every theorem, each as NAME=VALUE: `maxRecDepth=2000`."""

    header_seconds: Timeout = 600.0
    """Most seconds for Lean to start and to elaborate a header. A cold import of Mathlib can take minutes."""

    backend: Literal["worker", "repl", "leantree"] = "worker"
    """How lean-proxies run tactics: `worker` (Lean's own worker process, nothing to build), `repl` (the community
    REPL's protocol), or `leantree` (a LeanTree server; ours is `proofmesh leantree-server`). With every backend, proofs
    are verified in fresh processes of Lean itself."""

    repl_command: str = ""
    """Command of a REPL for `backend = "repl"`, run in the project's folder: `lake env PATH/TO/repl`, or `proofmesh
    repl`. Quotes work as in a shell."""

    leantree_url: str = ""
    """Address of the server for `backend = "leantree"`, http://HOST:PORT. It should use the same Lean and library."""

    @property
    def is_pocket(self) -> bool:
        """Whether this is pocket Lean."""
        return not self.project and self.toolchain in ("", POCKET)

    def check(self) -> None:
        """Raises ValueError for an invalid import, namespace or option, and for a backend without its command or
        address."""
        if self.backend == "repl" and not self.repl_command.strip():
            raise ValueError('repl_command: backend = "repl" needs one, such as `lake env PATH/TO/repl`')
        if self.backend == "leantree" and not _URL.fullmatch(self.leantree_url):
            raise ValueError(f'leantree_url = {self.leantree_url!r}: backend = "leantree" needs http://HOST:PORT')
        for module in self.imports:
            if not _MODULE.fullmatch(module):
                raise ValueError(f"imports: {module!r} is not a module name, such as Mathlib.Data.Nat.Prime.Basic")
        for name in self.opens:
            if not name.strip() or "\n" in name or name.split()[0] == "open":
                raise ValueError(f"opens: {name!r}: name a namespace, such as Nat or scoped Topology")
        for option in self.options:
            if not _OPTION.fullmatch(option.strip()):
                raise ValueError(f"options: {option!r}: write NAME=VALUE, such as maxRecDepth=2000")

    def header(self) -> str:
        """The commands before a theorem, one per line; empty if there are none."""
        imports = [f"import {module}" for module in self.imports]
        opens = [f"open {name.strip()}" for name in self.opens]
        pairs = [match.groups() for option in self.options if (match := _OPTION.fullmatch(option.strip()))]
        return "\n".join([*imports, *(f"set_option {name} {value}" for name, value in pairs), *opens])


# ----------------------------------------------------------------------------------------------------------------------
# Sampling parameters of a policy, for a prover's configuration, for requests and for the inference engine.

SAMPLES = 6
"""† K: default number of tactics sampled per expansion († from reimplementations of AlphaProof)."""

SUGGESTIONS = 16
"""Default number of tactics sampled for a person, who looks at a state once. A search comes back to it."""


@dataclass(frozen=True)
class Sampling:
    """How tactics are sampled. By default every token is sampled from the policy's distribution."""

    temperature: Temperature = 1.0
    """Divides the logits. Below 1, samples of a model with little training are better and a little less varied; 0 takes
    the most probable token."""

    top_p: Nucleus = 1.0
    """Sample each token from the smallest set of most probable tokens whose total probability is at least this; 1: from
    all tokens (nucleus sampling, Holtzman et al., arXiv 1904.09751)."""

    stop: StopTexts = ()
    """Additional texts that end a tactic. They are not part of it. Each must be a single token of the model; at most
    three."""


PLAIN = Sampling()
"""Every token is sampled from the policy's own distribution."""
