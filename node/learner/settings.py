"""Configuration of a learner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from common.limits import Duration, Factor, Natural, Positive, Ratio, Samples, Share, Timeout
from common.machine import read_machine
from common.protocol.attempts import TreeMethod
from common.settings import SAMPLES
from node.learner.algorithms import ALGORITHMS
from node.learner.choosing.banks import budget_factors, parts_of
from node.learner.choosing.matchmaker import MatchmakerSettings
from node.learner.learning.gate import GateSettings
from node.learner.learning.phases import PlanSettings
from node.learner.learning.schedule import ScheduleSettings
from node.learner.replay.replay import ReplaySettings
from node.model.config import ModelConfig


@dataclass
class TrainerSettings:
    """The trainer group and its steps."""

    ranks: Natural = 0
    """Processes on this machine: 0 is one for each GPU, and one on a CPU, since its threads share the cores better than
    ranks do."""
    threads: Natural = 0
    """Threads of each rank on a CPU; 0: all cores divided among the ranks."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto`: GPUs if there are any (nccl, rank r on GPU r), else the CPU (gloo)."""
    bf16: Literal["auto", "on", "off"] = "auto"
    """Forward and backward in bfloat16; `auto`: where the hardware has it."""
    compile: bool = False
    """Compile the network with torch.compile: pays where a step is long, since the first ones wait for the compiler."""
    machines: Positive = 1
    """Machines that train together, each with as many ranks. The others run `proofmesh join-trainer`."""
    rendezvous: str = ""
    """HOST:PORT of this machine, to which torchrun on the others connects; needed with several machines. It listens on
    this address and no other. Anyone who can reach the port can join: name an address of a trusted network."""
    batch: Positive = 64
    """Transitions per step, over all ranks."""
    rl_batch: Natural = 0
    """Transitions per step of reinforcement learning (and of its control), over all ranks; 0: those of `batch`."""
    token_budget: Positive = 8192
    """Tokens of one forward pass at most, padding included; larger batches are accumulated."""
    matrix_rate: Factor = 0.02
    """Learning rate of Muon (matrices inside the blocks)."""
    rate: Factor = 0.003
    """Learning rate of AdamW (embedding, heads, gains)."""
    warmup: Natural = 20
    """Steps over which the learning rates rise."""
    value_weight: Factor = 0.001
    """Weight of the value loss (AlphaProof's pseudocode)."""
    rl_factor: Factor = 0.3
    """Learning rates at the start of reinforcement learning, relative to those of the warm start. If the plan has an
    end, they fall to a tenth of this."""
    average_steps: Factor = 33.0
    """Reinforcement learning publishes the moving average of the weights over this many steps, and trains the latest
    weights: a few large steps make a policy worse, their average does not (docs/results.md). 0: no average."""
    timeout: Timeout = 120.0
    """Seconds without an answer to a command after which the group counts as hung and is restarted."""
    start_timeout: Timeout = 180.0
    """Seconds for the ranks to start and to find each other."""
    restarts: Natural = 5
    """Failures of the group in a row, without a step between them, after which the learner stops."""

    def learning_batch(self) -> int:
        """Transitions per step after the warm start."""
        return self.rl_batch or self.batch

    def gpus(self) -> int:
        """GPUs that the trainer may use on this machine."""
        return 0 if self.device == "cpu" else read_machine().gpus

    def resolved_ranks(self) -> int:
        """Ranks on this machine."""
        return self.ranks or max(1, self.gpus())


@dataclass
class WarmStartSettings:
    """Supervised training before reinforcement learning, until the validation loss reaches a plateau. The bank's
    manifest names its transitions (`node.bank.bank`)."""

    theorems: Share = 1.0
    """Share of the bank's theorems whose transitions are used, here and in later batches."""
    checkpoint: str = ""
    """Take the network of this checkpoint in place of a warm start: its folder, or a run's folder (of the demo, of
    `proofmesh train`), whose newest one is taken. A bank without transitions (an imported one) needs it."""
    steps: Natural = 1500
    """Most steps."""
    every: Positive = 50
    """Steps between measurements of the validation loss."""
    patience: Positive = 3
    """Measurements without improvement after which the loss has reached its plateau."""
    least_gain: Share = 0.01
    """Relative improvement of the validation loss that counts as one."""
    validation: Positive = 512
    """Transitions of the validation set, chosen by seed."""
    decay: Share = 0.25
    """Further steps after the plateau, as a share of the steps so far, with learning rates that fall to zero."""
    seconds: Duration = 120.0
    """Longest time until the plateau, for slow machines; the decay comes after it. A network that this limit has ended
    is not cached for other runs."""
    all_cores: bool = False
    """Compute with all cores of the machine, whatever [learner.trainer] threads: nothing else of the run works yet."""


@dataclass
class EvaluationSettings:
    """The evaluations before, after and beside learning."""

    statements: Positive = 160
    """Statements, of several banks by weight, stratified by family and level."""
    split: Literal["test", "valid"] = "test"
    """Split of the statements: use `valid` to choose settings, so that `test` stays unseen until they are fixed."""
    simulations: Positive = 16
    """Simulations per statement."""
    every: Natural = 0
    """Training steps between evaluations beside reinforcement learning; the first one uses the initial weights. 0:
    none. They run one at a time: if training is faster, the next begins with the newest weights when one is done."""
    share: Share = 0.1
    """Share of the search slots that an evaluation beside learning may take (at least one slot)."""
    beside_statements: Positive = 64
    """Statements of an evaluation beside learning: fewer than `statements`, so that it ends soon."""
    beside_simulations: Positive = 16
    """Simulations per statement of an evaluation beside learning."""
    retries: Natural = 2
    """Further attempts on a statement whose attempt failed because of the infrastructure."""


@dataclass
class LearnerSettings:
    """The learner: matchmaker, records, replay, training, checkpoints, weights, evaluation."""

    directory: str = "runs"
    """Folder of the run directories."""
    seed: Natural = 0
    """Seed of the run."""
    bank: str = ""
    """Folder of the theorem bank; empty: the bank that comes with proofmesh."""
    banks: list[str] = field(default_factory=list)
    """Several banks in place of one, each FOLDER*WEIGHT or FOLDER[FAMILY, ...]*WEIGHT. The names of banks that come
    with proofmesh, such as `pocket` and `wheels`, are folders, too. By the weights new theorems are attempted,
    supervised transitions trained on, and statements evaluated."""
    budget_factors: list[str] = field(default_factory=list)
    """Banks with long proofs, each FOLDER*FACTOR: their attempts and evaluations get this many times the simulations.
    """
    statements: Natural = 0
    """Train statements to use, chosen by seed; 0: all."""
    samples: Samples = SAMPLES
    """K: tactics sampled per expansion, in every attempt of the run, on every prover."""
    algorithm: str = ""
    """What the learner attempts and learns from: `alphaproof`, `expert-iteration` or `hard-proofs`
    (`node.learner.algorithms`). Empty: as `method` says."""
    method: TreeMethod = "mcts"
    """The older key for it, with the same results as ever: `best-first` is the algorithm `expert-iteration`, which does
    not use the value; `mcts` is `alphaproof`; `random` is `alphaproof` with a random search in all attempts of the
    run."""
    ahead: Ratio = 1.5
    """Attempts outstanding for each search slot of the mesh."""
    results: Positive = 64
    """Results handled at once: each waits for its proof to be verified, and a lean-proxy verifies them in batches."""
    max_deliveries: Positive = 5
    """Deliveries of one result after which it is recorded as poisoned: the learner crashed on each of them."""
    verify_gather: Duration = 6.0
    """Seconds for which a proof waits for others, so that they are verified together: a batch costs hardly more than
    one proof. Other searches begin meanwhile. For evaluations at most 2, because the run waits for their last proof.
    0: no wait."""
    verify_timeout: Timeout = 30.0
    """Seconds for one verification."""
    verify_patience: Duration = 600.0
    """Total seconds for which a proof waits for a lean-proxy; then its result is handed back and redelivered."""
    keep_checkpoints: Positive = 3
    """Newest checkpoints kept."""
    keep_weights: Positive = 4
    """Newest weight versions kept in the object store, besides pinned ones."""
    keep_searches: Share = 0.02
    """Share of the attempts to learn whose search trees are kept in `searches.sqlite`, besides those of all
    evaluations; 0: none at all."""
    trace: Share = 0.02
    """Share of the attempts to learn of which spans are kept in `spans.jsonl`, besides all evaluations; 0: none at
    all."""
    keep_searches_mb: Natural = 256
    """Most MiB of kept searches. Where there is no room, the least interesting ones go first: those that are kept
    longest have a proof that came late, or missed one by little."""
    tracker: str = ""
    """Trackers that get the curves, too: `tensorboard`, `trackio:PROJECT`, `wandb:PROJECT`, or several with
    commas. Each is an optional package (docs/operations.md)."""
    plan: PlanSettings = field(default_factory=PlanSettings)
    """Phases of the run."""
    matchmaker: MatchmakerSettings = field(default_factory=MatchmakerSettings)
    """Choice of theorems and budgets."""
    replay: ReplaySettings = field(default_factory=ReplaySettings)
    """The replay buffer."""
    schedule: ScheduleSettings = field(default_factory=ScheduleSettings)
    """When to train, and how long."""
    gate: GateSettings = field(default_factory=GateSettings)
    """The check that weights must pass before they are published."""
    trainer: TrainerSettings = field(default_factory=TrainerSettings)
    """The trainer group."""
    warm_start: WarmStartSettings = field(default_factory=WarmStartSettings)
    """The warm start."""
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    """The evaluations."""
    model: ModelConfig = field(default_factory=ModelConfig)
    """Shape of the network."""

    def algorithm_name(self) -> str:
        """The name of the algorithm, from whichever key has it."""
        return self.algorithm or ("expert-iteration" if self.method == "best-first" else "alphaproof")

    def check(self) -> None:
        """Raises ValueError for bank settings that cannot be parsed, and for an algorithm that there is not."""
        budget_factors(self.budget_factors, parts_of(self.bank, self.banks))
        if self.algorithm and self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm = {self.algorithm!r}: use one of {', '.join(ALGORITHMS)}")
        if self.algorithm and self.method != "mcts":
            raise ValueError(f"algorithm and method = {self.method!r} are both given: leave method out")
