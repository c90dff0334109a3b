# `just` lists the recipes. Without just: `./start RECIPE` (it puts just into .venv first).

set positional-arguments

proofmesh := ".venv/bin/proofmesh"
python := ".venv/bin/python"

# List the recipes
_default:
    @"{{ just_executable() }}" --justfile "{{ justfile() }}" --list --unsorted

# Everything that is needed, in .venv: packages, nats-server, pocket Lean (`just setup gpu`: torch with CUDA)
[no-exit-message]
setup *kind:
    @./start --setup "$@"

# Watch a mesh learn to prove theorems, on this machine (DEMO_MINUTES=5, --control)
[no-exit-message]
demo *args: setup
    @{{ proofmesh }} demo "$@"

# Style, types and the default tests, several at once; with arguments, pytest alone with these
[no-exit-message]
test *args: setup
    @if [ $# -eq 0 ]; then "{{ just_executable() }}" lint; fi
    @if [ $# -eq 0 ]; then set -- --numprocesses logical --maxprocesses 4 --dist worksteal; fi; {{ python }} -m pytest "$@"

# The tests that start no broker, no Lean and no other program, and compute little
[no-exit-message]
unit *args: setup
    @{{ python }} -m pytest -m "not slow and not broker and not lean and not process and not compute" --numprocesses logical --maxprocesses 4 --dist worksteal "$@"

# The tests that take long or need much of the machine
[no-exit-message]
test-slow *args: setup
    @{{ python }} -m pytest -m slow --timeout 900 "$@"

# Style and types
[no-exit-message]
lint: setup
    .venv/bin/ruff check .
    .venv/bin/ruff format --check .
    .venv/bin/mypy

# Write the generated pages of docs/ anew: protocol, configuration, metrics
[no-exit-message]
docs-generate *args: setup
    @{{ python }} -m scripts.docs "$@"

# Build the documentation as a site, in build/site (`just docs serve` shows it while you write)
[no-exit-message]
docs *args: setup
    @{{ python }} -m scripts.docs.site "$@"

# Prove one theorem: just prove 'theorem t (p q : Prop) : p ∧ q → q ∧ p'
[no-exit-message]
prove *args: setup
    @{{ proofmesh }} prove "$@"

# Prove what is `sorry` in Lean files, folders and projects: just fill FILE --write
[no-exit-message]
fill *args: setup
    @{{ proofmesh }} fill "$@"

# Check the proofs in Lean files, folders and projects with Lean's kernel
[no-exit-message]
verify *args: setup
    @{{ proofmesh }} verify "$@"

# The verification service with Kimina Lean Server's API: just serve --port 8000
[no-exit-message]
serve *args: setup
    @{{ proofmesh }} serve "$@"

# All roles as child processes, from one file: just up scripts/recipes/laptop.toml
[no-exit-message]
up *args: setup
    @{{ proofmesh }} up "$@"

# One node: the broker
[no-exit-message]
run-broker *args: setup
    @exec {{ proofmesh }} broker "$@"

# One node: matchmaker, replay, training, checkpoints, evaluation
[no-exit-message]
run-learner *args: setup
    @exec {{ proofmesh }} learner "$@"

# One node: samples tactics from the policy
[no-exit-message]
run-inference *args: setup
    @exec {{ proofmesh }} inference "$@"

# One node: searches for proofs
[no-exit-message]
run-prover *args: setup
    @exec {{ proofmesh }} prover "$@"

# One node: runs tactics in Lean, verifies proofs
[no-exit-message]
run-lean-proxy *args: setup
    @exec {{ proofmesh }} lean-proxy "$@"

# One node: the web monitor; waits for the broker
[no-exit-message]
run-ui *args: setup
    @exec {{ proofmesh }} ui --patience None "$@"

# Measurements of the parts, for LOG.md; `just bench` lists them, `just bench NAME` runs one
[no-exit-message]
bench *args: setup
    @{{ proofmesh }} bench "$@"

# Generate the theorem bank anew (minutes; --scale 0.1 for a small one, --out FOLDER to leave ours alone)
[no-exit-message]
bank *args: setup
    @{{ python }} -m scripts.bank.build "$@"

# What single tactics and a search without a model prove of the test split
[no-exit-message]
floors *args: setup
    @{{ python }} -m scripts.bank.floors "$@"

# An hour of reinforcement learning beside its controls (--seeds 0 1 2; goes on where it stopped), and its tables
[no-exit-message]
rl-pocket *args: setup
    @{{ python }} -m scripts.studies.rl_pocket "$@"
    @{{ python }} -m scripts.studies.rl_pocket_page

# Reinforcement learning without one of its parts at a time: eight runs of 15 minutes on one core; goes on where it stopped
[no-exit-message]
rl-ablations *args: setup
    @{{ python }} -m scripts.studies.rl_ablations "$@"

# Self-play beside expert iteration (--seeds 0 1; goes on where it stopped), and their picture
[no-exit-message]
stp-pocket *args: setup
    @{{ python }} -m scripts.studies.stp_pocket "$@"
    @{{ python }} -m scripts.studies.stp_pocket_page self-play=runs/stp-pocket-0 'expert iteration=runs/ei-pocket-0'

# Self-play without one of its parts at a time: four short runs, about 15 minutes each on one core; goes on where it stopped
[no-exit-message]
stp-ablations *args: setup
    @{{ python }} -m scripts.studies.stp_ablations "$@"

# Train a small Llama in Hugging Face's format on the bank's proofs, in minutes: just small-llama FOLDER (--lora BASE)
[no-exit-message]
small-llama *args: setup
    @{{ python }} -m scripts.models.small_llama "$@"
