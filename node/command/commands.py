"""The table of commands: name, one-line help, and the module of the code, which is imported only when it runs."""

from __future__ import annotations

from node.mesh.roles import ROLES, Command

TOOLS: dict[str, Command] = {
    "up": Command("start all roles as child processes, from one file", "node.command.up:main"),
    "prove": Command(
        "prove a statement, a theorem or `sorry` of a file, or many statements", "node.command.proofs.prove:main"
    ),
    "eval": Command(
        "evaluate policies and methods on benchmarks; compare and show results", "node.command.evaluate.command:main"
    ),
    "fill": Command("replace `sorry`s in .lean files by proofs, printed or written", "node.command.proofs.fill:main"),
    "inspect": Command(
        "show a search of `prove --explain`, or the theorems of a run", "node.command.proofs.inspect:main"
    ),
    "verify": Command(
        "check the proofs in .lean files and folders with Lean's kernel", "node.command.proofs.verify:main"
    ),
    "recheck": Command(
        "verify every recorded proof of a run anew, with a second kernel", "node.command.proofs.recheck:main"
    ),
    "serve": Command("run a verification service with Kimina Lean Server's HTTP API", "node.serve.service:main"),
    "status": Command("show the nodes of a mesh, and the protections of Lean processes", "node.command.status:main"),
    "runs": Command("list the runs on a broker, and remove those that are over", "node.command.runs:main"),
    "trace": Command("extract every tactic of Lean files, with states before and after", "node.command.trace:main"),
    "premises": Command(
        "premise retrieval by proof state: index a library, search, eval", "node.retrieval.command:main"
    ),
    "bank": Command("theorem banks: import data sets, list, stats, check", "node.bank.command:main"),
    "models": Command(
        "prover models: families and exact prompts, try one, convert ours to Hugging Face format and back",
        "node.llm.command:main",
    ),
    "replay": Command("rebuild a run's replay buffer from its records", "node.learner.replay.command:main"),
    "demo": Command(
        "run a small mesh that learns: warm start, reinforcement learning", "node.command.demo.command:main"
    ),
    "repl": Command("serve the community REPL's protocol on stdin and stdout", "node.lean.adapters.repl.service:main"),
    "leantree-server": Command(
        "serve LeanTree's HTTP protocol over our Lean workers", "node.lean.adapters.leantree.service:main"
    ),
    "train": Command(
        "train our network (pretrain, midtrain, sft, recipe), or a Hugging Face model (hf-sft, grpo, ...)",
        "node.command.train:main",
    ),
    "agent": Command("learn from Lean repositories in turn, and prove their `sorry`s", "node.command.agent:main"),
    "stp": Command("self-play of a conjecturer and a prover (STP)", "node.command.stp.command:main"),
    "join-trainer": Command(
        "join a learner that trains on several machines, with this machine's ranks", "node.learner.trainer.join:main"
    ),
    "tokenizer": Command("make, measure and show tokenizers", "node.training.tokenizer_cli:main"),
    "bench": Command("benchmark one part: bus, engine, search, ...", "scripts.bench.__main__:main"),
}

COMMANDS: dict[str, Command] = TOOLS | ROLES
