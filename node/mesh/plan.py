"""Plans the nodes of a mesh from one configuration file: counts per role, command lines, order of stopping."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from broker import keys
from broker.settings import BrokerSettings
from common import config
from common.bus.credentials import key_file
from common.config import ConfigError
from common.limits import Duration, Natural, Timeout
from common.machine import EVERY_ADDRESS, gpu_names, listenable
from common.output.visible import without_credentials
from common.protocol.subjects import check_run_name
from common.settings import NodeSettings, RunSettings, token_of
from node.data.grammar import is_there
from node.lean_proxy.settings import LeanProxySettings
from node.llm.address import BadModel, ModelAddress
from node.llm.servers import KEYS
from node.mesh.restarts import RestartRules
from node.mesh.roles import ROLES, resolve
from node.mesh.supervisor import ChildSpec
from node.prover.policies.fixed import contents
from node.prover.policies.names import INFERENCE, OPENAI, OWN, BadPolicy, PolicyName, joined, parse
from node.prover.policies.proofs import read_proofs
from ui.settings import UiSettings


@dataclass
class UpSettings:
    """Start all roles of a mesh as child processes, from one file."""

    broker: int = 1
    """1 starts a broker; 0 uses the broker of [bus] url. If the run's learner is here, or a policy is served, a broker
    node without a server keeps the run's streams there."""

    learner: int = 1
    """1 runs the learner of the run here; 0 leaves it to another machine."""

    inference: int = 1
    """Number of inference nodes here."""

    prover: int = 1
    """Number of provers here. Each runs several searches at once ([prover] searches)."""

    lean_proxy: int = 1
    """Number of lean-proxies here. Each has several Lean workers ([lean_proxy] workers)."""

    ui: int = 1
    """1 runs the web monitor."""

    policy: str = ""
    """Serve this policy without learning: `own:PATH` (a weights file, a checkpoint, or the newest one of a run's
    folder), language models (`openai:URL#MODEL`, `hf:ID_OR_FOLDER`), `tactics`, `tactics:FILE`, `neighbours:RUN`, a
    mixture such as `own:PATH+tactics`, or policies that take turns, `own:PATH,tactics`. The mesh then has no learner.
    Its inference nodes serve the network ([inference] weights), each language model has its own inference node, and its
    provers use the policy ([prover] policy). Without a network or a model, there are no inference nodes. Such a mesh
    serves `proofmesh prove --url`, for example. Empty: each role does what its section says."""

    models: tuple[str, ...] = ()
    """Additional language models to serve: `openai:URL#MODEL` or `hf:ID_OR_FOLDER`. Each gets its own inference node
    here, configured by [inference] models. Provers use them if [prover] policy or an attempt names them, as in
    `inference+openai:MODEL`."""

    restarts: Natural = 5
    """Most restarts of one child within `window` seconds. One more crash ends the mesh."""

    window: Timeout = 120.0
    """Seconds in which crashes are counted."""

    grace: Duration = 20.0
    """Seconds for the nodes of one role to drain when the mesh is stopped. After that they are killed."""

    def rules(self) -> RestartRules:
        """The rules for restarting children."""
        return RestartRules(limit=self.restarts, window=self.window)


_PROXIES = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

ORDER = ("prover", "inference", "learner", "lean-proxy", "ui", "broker")
"""Roles in the order in which they are stopped: clients before servers, and the broker last, so that all nodes can hand
back their leases."""

MOST = {"broker": 1, "learner": 1, "ui": 1}
"""Most nodes of a role on a machine."""

VERIFIER_KEY = "verifier.pem"
"""In the run directory: the key that signs the verdicts of the mesh's own lean-proxies."""

OF_THE_HUB = frozenset({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN"} | _PROXIES)
"""Secrets for downloads from Hugging Face's hub."""

OF_SERVERS = frozenset(set(KEYS) | _PROXIES)
"""Secrets for language models on servers."""

OF_COLLECTORS = frozenset({"OTEL_EXPORTER_OTLP_HEADERS"})
"""Secrets for [node] otlp."""

SECRETS: dict[str, frozenset[str]] = {
    "broker": frozenset(),
    "learner": OF_THE_HUB | OF_COLLECTORS,
    "inference": OF_THE_HUB | OF_SERVERS,
    "prover": OF_THE_HUB | OF_COLLECTORS,  # premises
    "lean-proxy": frozenset(),
    "ui": frozenset(),
}
"""Secrets of the environment that the nodes of a role get, besides the broker's user and password. So a key for
language models is not where strangers' Lean code runs, nor behind the monitor's port."""

_SECRET = re.compile(
    r"(^|_)(KEY|OTLP_HEADERS|APIKEY|INVITE|TOKENS?|SECRETS?|CREDENTIALS?|PASSPHRASE|AUTH)(_|$)|PASSW(OR)?D(_|$)"
)
"""Names such as WANDB_API_KEY, AWS_SECRET_ACCESS_KEY, PGPASSWORD or SSH_AUTH_SOCK; not TOKENIZERS_PARALLELISM."""

NAME = 40
"""Most letters of a language model's name in the name of its inference node."""


@dataclass
class MeshPlan:
    """The plan of a mesh."""

    children: list[ChildSpec]
    up: UpSettings
    node: NodeSettings
    """Run and broker of the mesh; the broker's address with its real port."""
    broker_address: tuple[str, int] | None
    """Host and port of the mesh's own broker; None if it has none."""
    directory: Path
    """The run directory."""
    ui: UiSettings | None
    """The monitor; None if there is none."""
    verifier_key: str = ""
    """The file of the key that signs the verdicts of its lean-proxies; empty: they verify no proofs."""
    key_store: str = ""
    """The broker's store, if the nodes need keys and the missing ones are made there; empty: they are not."""
    notes: list[str] = field(default_factory=list)
    """Messages to the user."""
    models: Sequence[str] = ()
    """Addresses of the language models that it serves."""


def make_plan(file: Path | None, up: UpSettings, node: NodeSettings) -> MeshPlan:
    """Plan a mesh. Raises ConfigError, BadRunName."""
    check_run_name(node.run)
    _check_counts(up)
    _check_sections(file)
    notes: list[str] = []
    own: dict[str, list[str]] = {}
    models = _models(up.models)
    if up.policy:
        up, own, served = _serving(up, notes.append)
        models = _models((*models.values(), *served))
    run_dir = config.convert(RunSettings, config.read(file).get("run", {}), f"{file}: [run]").dir
    directory = Path(run_dir) / node.run
    broker, ui = config.load(BrokerSettings, file, "broker"), config.load(UiSettings, file, "ui")
    shared = ["--run", node.run]
    if file is not None:
        shared += ["--config", str(file)]
    address, key_store = None, ""
    if up.broker:
        port = broker.port or free_port()
        address = (broker.host, port)
        own["broker"] = ["--server", "--port", str(port)]
        node.bus.url = f"nats://{reachable(broker.host)}:{port}"
        if keys.wanted(broker, node.bus.credentials()):
            key_store = broker.store
            node.bus.key, node.bus.invite = str(keys.folder_of(broker.store, node.run)), ""
    else:
        own["broker"] = ["--no-server"]
    own["ui"] = [] if ui.folder else ["--folder", str(directory)]
    own["ui"] += ["--patience", "None"]  # the monitor waits for the broker, which starts at the same time
    if "runs" not in config.read(file).get("ui", {}):
        ui.runs = run_dir
        own["ui"] += ["--runs", run_dir]
    key = ""
    if up.lean_proxy and (up.broker or up.learner or up.policy):
        # Elsewhere lean-proxies only run tactics: a machine that joins does not judge proofs unless it is told to.
        key = config.load(LeanProxySettings, file, "lean_proxy").key or str(directory / VERIFIER_KEY)
        own["lean-proxy"] = ["--key", key]
    shared += ["--bus.url", node.bus.url, "--node.log-json"]
    # Secrets stay out of command lines, which every user of the machine can read. What a file says must not win.
    shared += ["--bus.user", "", "--bus.password", "", "--bus.key", "", "--bus.invite", "", "--node.token", ""]
    tls = {"ca": node.bus.ca, "certificate": node.bus.certificate, "certificate-key": node.bus.certificate_key}
    for name, value in (tls | {"broker-name": node.bus.broker_name}).items():
        if value and not value.startswith("-----"):  # a certificate as text comes with the invite
            shared += [f"--bus.{name}", value]
    verifies = bool(key or config.load(LeanProxySettings, file, "lean_proxy").key)
    nodes = [*_names(up), *(("inference", name) for name in models)]
    own |= {name: ["--weights", "", "--model", model] for name, model in models.items()}
    on_gpus = [name for role, name in nodes if role == "inference" and not models.get(name, "").startswith(OPENAI)]
    gpus = _gpu_of_inference(on_gpus, gpu_names())
    children = [
        ChildSpec(
            name=name,
            argv=[
                sys.executable,
                "-m",
                "node.command.cli",
                role,
                *shared,
                *own.get(name, own.get(role, [])),
                *_metrics(node, index),
            ],
            log=directory / "logs" / f"{name}.log",
            rank=ORDER.index(role),
            ends_mesh=role == "learner",
            optional=role == "ui",
            env=environment(role, models.get(name, ""), os.environ)
            | credentials_of(node, "verifier" if role == "lean-proxy" and verifies else role)
            | gpus.get(name, {}),
        )
        for index, (role, name) in enumerate(nodes)
    ]
    shown = ui if up.ui else None
    return MeshPlan(children, up, node, address, directory, shown, key, key_store, notes, [*models.values()])


def _serving(up: UpSettings, note: Callable[[str], None]) -> tuple[UpSettings, dict[str, list[str]], Sequence[str]]:
    """The settings of a mesh that serves [up] policy: its counts, flags by role (which override the file), and the
    language models of the policy. Raises ConfigError."""
    served = served_policy(up.policy, note)
    provers = {"prover": ["--policy", served.provers]}
    if served.weights is None:
        return replace(up, learner=0, inference=0), provers, served.models
    if not up.inference:
        raise config.ConfigError(f"[up] inference = 0: no node would serve the network of {up.policy!r}; set it to 1")
    flags = {"inference": ["--model", "", "--weights", str(served.weights)]}
    return replace(up, learner=0), provers | flags, served.models


def _models(addresses: Iterable[str]) -> dict[str, str]:
    """Language models by the names of their inference nodes. Raises ConfigError."""
    try:
        models = models_of(addresses)
    except BadPolicy as error:
        raise config.ConfigError(f"[up] models: {error}") from error
    named: dict[str, str] = {}
    for model in models:
        last = model.rpartition("#")[2].partition("@")[0].rstrip("/").rpartition("/")[2]
        word = re.sub(r"[^A-Za-z0-9.-]+", "-", last).strip("-.")
        name = f"inference-{word[:NAME] or 'model'}"
        named[name if name not in named else f"{name}-{len(named) + 1}"] = model
    return named


def environment(role: str, model: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a child gets: all that are no secret, and the secrets that its role needs (SECRETS). `model`:
    the language model of an inference node; empty: what its section says."""
    needed = SECRETS[role]
    if model:
        needed = OF_SERVERS if model.startswith(OPENAI) else OF_THE_HUB
    return {name: value for name, value in environ.items() if name in needed or not is_secret(name, value)}


def credentials_of(node: NodeSettings, role: str) -> dict[str, str]:
    """The variables with which a child shows the broker who it is: its own key, and no other role's; and the token for
    readers of its metrics. `role`: that of its key."""
    role = "admin" if role == "broker" else role
    user, password = node.bus.credentials()
    shown = {"PROOFMESH_NATS_USER": user, "PROOFMESH_NATS_PASSWORD": password} if user or password else {}
    if token := token_of(node.token):
        shown["PROOFMESH_TOKEN"] = token
    if (invite := node.bus.told()) is not None:
        shown["PROOFMESH_INVITE"] = invite.only(role).text()
    elif named := node.bus.key or os.environ.get("PROOFMESH_KEY", ""):
        shown["PROOFMESH_KEY"] = str(key_file(Path(named), node.run, role).absolute())
    return shown


def is_secret(name: str, value: str) -> bool:
    """True for a variable whose name says so, and for a value with a URL that has a password, such as a proxy's."""
    return bool(_SECRET.search(name.upper())) or without_credentials(value) != value


def _gpu_of_inference(names: Sequence[str], gpus: Sequence[str]) -> dict[str, dict[str, str]]:
    """Environment of each of several inference nodes. GPUs are assigned in turn, so each node has its own if there are
    enough.

    A single node sees all GPUs, and takes the first or the configured one."""
    if len(names) < 2 or not gpus:
        return {}
    return {name: {"CUDA_VISIBLE_DEVICES": gpus[number % len(gpus)]} for number, name in enumerate(names)}


def free_port() -> int:
    """A TCP port of loopback that is free now. It is chosen before the broker starts, to stay the same after
    restarts."""
    return listenable("127.0.0.1", 0)


def check_port(host: str, port: int) -> None:
    """Check that a broker can listen there. Raises PortInUse; otherwise nodes would connect to the other program."""
    try:
        listenable(host, port)
    except OSError as error:
        raise PortInUse(
            f"cannot run a broker on {host}:{port} ({error.strerror}); if another broker runs there, stop it, use it "
            "([up] broker = 0), or choose another port ([broker] port; 0 takes a free one)"
        ) from error


class PortInUse(RuntimeError):
    """The broker's port is not free. The message says what to do."""


def reachable(host: str) -> str:
    """The address for clients on this machine to connect to a server that listens on `host`."""
    return "127.0.0.1" if host in EVERY_ADDRESS else host


def _names(up: UpSettings) -> Iterator[tuple[str, str]]:
    """(role, name) of every child, the broker first. One prover is named `prover`; several `prover-1`, `prover-2`,
    ..."""
    for role in reversed(ORDER):
        count = int(getattr(up, role.replace("-", "_")))
        if role == "broker" and (up.learner or up.policy):
            count = 1  # it keeps the run's streams, also without a server of its own
        for number in range(1, count + 1):
            yield role, role if count == 1 else f"{role}-{number}"


def _metrics(node: NodeSettings, index: int) -> list[str]:
    """The metrics port of a child: a fixed port is the first of a range, with one port for each child."""
    return ["--node.metrics-port", str(node.metrics_port + index)] if node.metrics_port else []


def _check_sections(file: Path | None) -> None:
    """Read every role's section, so that mistakes are reported here and not by a child. Raises ConfigError."""
    config.load_lean(file)
    for section in config.read(file):
        for role in ROLES.values():
            if role.section == section:
                config.load(resolve(role.settings), file, section)  # type: ignore[arg-type]


def _check_counts(up: UpSettings) -> None:
    for role in ORDER:
        key = role.replace("-", "_")
        count = int(getattr(up, key))
        if count < 0 or count > MOST.get(role, count):
            allowed = f"from 0 to {MOST[role]}" if role in MOST else "0 or more"
            raise config.ConfigError(f"[up] {key} = {count}: must be {allowed}, on one machine")
    if not up.models and not any(int(getattr(up, role.replace("-", "_"))) for role in ORDER):
        raise config.ConfigError("[up]: every count is 0, so nothing would run; set one, such as prover = 1")


# --- `up --policy`: a mesh without a learner, which serves one policy to clients such as `prove --url` ---------------


@dataclass(frozen=True)
class ServedPolicy:
    """Settings of the nodes of a mesh that serves a policy."""

    provers: str
    """[prover] policy of the provers."""
    weights: Path | None
    """[inference] weights of the inference nodes: a weights file or one checkpoint, so that a restarted node serves the
    same one. None: no network is needed."""
    models: tuple[str, ...] = ()
    """Addresses of language models, servers included. Each gets its own inference node."""


def served_policy(text: str, note: Callable[[str], None] = lambda text: None) -> ServedPolicy:
    """The settings for a `--policy`. Checks that all files that it names exist and are complete. `note` gets messages
    about damaged checkpoints that are skipped. Raises ConfigError."""
    from node.play.policies import weights_at

    try:
        # 1. Everything that the policy names is checked here: a node would fail later, and be restarted again and
        # again.
        names = parse(text, OWN)
        networks = [name for name in names if name.is_network]
        if len(networks) > 1:
            raise BadPolicy(f"a mesh has one network, not `{joined(networks)}`: name one of them")
        for name in names:
            if name.is_model:
                _check_model(name)
            elif name.is_proofs:
                read_proofs(Path(name.where))
            elif name.where and not name.is_network:
                contents(name)
        # 2. The same policy under the names that provers use.
        models = models_of([f"{name.kind}:{name.where}" for name in names if name.is_model])
        mesh_names = joined(map(_of_the_mesh, names))
        parse(mesh_names, INFERENCE)  # a model on two servers is one model in a mesh
        # 3. The network. An absolute path, because nodes may run in another folder.
        weights = weights_at(Path(networks[0].where), note).absolute() if networks else None
        if weights is not None and weights.is_file():
            _check_weights_file(weights)
    except BadPolicy as error:
        raise ConfigError(f"[up] policy: {error}") from error
    return ServedPolicy(mesh_names, weights, models)


def _check_model(name: PolicyName) -> None:
    """Check a model's name and settings, as far as possible without loading it. Raises BadPolicy."""
    from node.play.policies import check_model

    check_model(name)


def models_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Addresses of language models for inference nodes: each model once, whatever its template. Raises BadPolicy."""
    from node.llm.models import parse_model, served_name

    addresses: dict[str, ModelAddress] = {}
    for text in texts:
        try:
            address = parse_model(text)
        except BadModel as error:
            raise BadPolicy(str(error)) from error
        before = addresses.setdefault(served_name(address), address)
        if replace(before, template="") != replace(address, template=""):
            raise BadPolicy(f"`{address}` and `{before}` are one model: write its servers as one address, with `|`")
    return tuple(map(str, addresses.values()))


def _check_weights_file(file: Path) -> None:
    """Check the header of a weights file, without torch. Raises BadPolicy."""
    import safetensors

    try:
        with safetensors.safe_open(file, framework="numpy") as opened:
            ours = "proofmesh" in (opened.metadata() or {})
    except (OSError, safetensors.SafetensorError) as error:
        raise BadPolicy(f"{file}: not a complete safetensors file ({error})") from error
    if not ours:
        raise BadPolicy(f"{file}: not a weights file of proofmesh")


def _of_the_mesh(name: PolicyName) -> PolicyName:
    """A part of the policy, under the name that provers use."""
    if name.is_network:
        return PolicyName(INFERENCE, share=name.share, turn=name.turn)
    if name.is_model:
        return _model_of_the_mesh(name)
    # `neighbours:bank` names the bank that comes with proofmesh, no file.
    return replace(name, where=str(Path(name.where).absolute())) if is_there(name.where) else name


def _model_of_the_mesh(name: PolicyName) -> PolicyName:
    """A language model, under the name that provers use. It includes the template from the model's folder, since
    provers do not read that folder.

    Raises BadPolicy.
    """
    from node.llm.models import has_template_file, mesh_name, template_of_name
    from node.llm.templates import TemplateError
    from node.play.policies import address_here, template_here

    address = address_here(name)
    if not address.template:
        # A template that follows from the model's name is known to provers as well, and is left out.
        here = template_here(address)
        try:
            same_template = template_of_name(address) == here
        except TemplateError:
            same_template = False
        if not same_template:
            address = replace(address, template=here.name)
            if has_template_file(address):
                raise BadPolicy(
                    f"`{name}`: its folder names a template file, which provers do not read: write {name}@FILE"
                )
    return replace(name, where=mesh_name(address).partition(":")[2])
