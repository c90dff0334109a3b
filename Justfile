# `just` lists the recipes. Without just, use `./start RECIPE`, which installs just into .venv first.

set positional-arguments

proofmesh := ".venv/bin/proofmesh"
python := ".venv/bin/python"

# Images for containers often forbid byte code. Without it each process compiles all modules anew: a process of
# tests then takes 22 s to collect them, in place of 7.
export PYTHONDONTWRITEBYTECODE := ""

# Two for each core, because tests wait a third of their time; at most six, because each takes about a gigabyte.
test_processes := `cores=$(nproc); echo $((cores < 3 ? 2 * cores : 6))`

# List the recipes
_default:
    @"{{ just_executable() }}" --justfile "{{ justfile() }}" --list --unsorted

# Install everything into .venv: packages, nats-server, pocket Lean (`just setup gpu`: torch with CUDA; `just setup tools`: Chromium, promtool and others that some tests use)
[no-exit-message]
setup *kind:
    @./start --setup "$@"

# Say what works here, what is slow and what is broken; sets nothing up (just doctor --lean.project DIR --url nats://HOST:4222)
[no-exit-message]
doctor *args:
    @./start doctor "$@"

# Watch a mesh learn to prove theorems, on this machine (DEMO_MINUTES=5, --control)
[no-exit-message]
demo *args: setup
    @{{ proofmesh }} demo "$@"

# Style, types and the default tests, in parallel; with arguments: only pytest, with these arguments
[no-exit-message]
test *args: setup
    @if [ $# -eq 0 ]; then "{{ just_executable() }}" lint; fi
    @if [ $# -eq 0 ]; then set -- --numprocesses {{ test_processes }} --dist worksteal; fi; {{ python }} -m pytest "$@"

# Only fast tests, which start no broker, no Lean and no other program
[no-exit-message]
unit *args: setup
    @{{ python }} -m pytest -m "not slow and not broker and not lean and not process and not compute and not generators" --numprocesses logical --maxprocesses 4 --dist worksteal "$@"

# Only slow tests, which take long or need many resources
[no-exit-message]
test-slow *args: setup
    @{{ python }} -m pytest -m slow --timeout 900 "$@"

# Check style and types
[no-exit-message]
lint: setup
    .venv/bin/ruff check .
    .venv/bin/ruff format --check .
    .venv/bin/mypy
    @if tsc=$(PATH="$PATH:.cache/tools" command -v tsc); then echo "tsc -p ui/jsconfig.json"; "$tsc" -p ui/jsconfig.json; \
        else echo "no tsc (./start --setup tools): the types in the monitor's scripts are not checked"; fi

# Regenerate the generated pages of docs/: protocol, configuration, metrics
[no-exit-message]
docs-generate *args: setup
    @{{ python }} -m scripts.docs "$@"

# Build the documentation site in build/site (`just docs serve`: a live preview)
[no-exit-message]
docs *args: setup
    @{{ python }} -m scripts.docs.site "$@"

# Prove one theorem: just prove 'theorem t (p q : Prop) : p ∧ q → q ∧ p'
[no-exit-message]
prove *args: setup
    @{{ proofmesh }} prove "$@"

# Replace `sorry` by proofs in Lean files, folders and projects: just fill FILE --write
[no-exit-message]
fill *args: setup
    @{{ proofmesh }} fill "$@"

# Check the proofs in Lean files, folders and projects with Lean's kernel
[no-exit-message]
verify *args: setup
    @{{ proofmesh }} verify "$@"

# Run a verification service with Kimina Lean Server's API: just serve --port 8000
[no-exit-message]
serve *args: setup
    @{{ proofmesh }} serve "$@"

# Run all roles as child processes, configured by one file: just up scripts/recipes/laptop.toml
[no-exit-message]
up *args: setup
    @{{ proofmesh }} up "$@"

# Run one node: the broker
[no-exit-message]
run-broker *args: setup
    @exec {{ proofmesh }} broker "$@"

# Run one node: matchmaker, replay buffer, training, checkpoints, evaluation
[no-exit-message]
run-learner *args: setup
    @exec {{ proofmesh }} learner "$@"

# Run one node that samples tactics from the policy
[no-exit-message]
run-inference *args: setup
    @exec {{ proofmesh }} inference "$@"

# Run one node that searches for proofs
[no-exit-message]
run-prover *args: setup
    @exec {{ proofmesh }} prover "$@"

# Run one node that runs tactics in Lean and verifies proofs
[no-exit-message]
run-lean-proxy *args: setup
    @exec {{ proofmesh }} lean-proxy "$@"

# Run one node: the web monitor; it waits for the broker
[no-exit-message]
run-ui *args: setup
    @exec {{ proofmesh }} ui --patience None "$@"

# Does everything work on this machine's GPUs, and how fast? `--device cpu`: smaller
[no-exit-message]
gpu-check *args: setup
    @{{ python }} -m scripts.bench gpu "$@"

# Benchmarks, with reports for LOG.md; `just bench` lists them, `just bench NAME` runs one
[no-exit-message]
bench *args: setup
    @{{ proofmesh }} bench "$@"

# Regenerate the theorem bank (takes minutes; --scale 0.1: a small one; --out FOLDER: do not overwrite ours)
[no-exit-message]
bank *args: setup
    @{{ python }} -m data.generators.build "$@"

# Baselines: the solve rates of single tactics and of a search without a model on the test split
[no-exit-message]
floors *args: setup
    @{{ python }} -m data.generators.floors "$@"

# Write and build a Lean project that weighs like Mathlib, to measure behind its header (--out FOLDER --modules 300)
[no-exit-message]
heavy *args: setup
    @{{ python }} -m data.generators.heavy "$@"

# Study: an hour of reinforcement learning and its controls, with tables (--seeds 0 1 2; resumes where it stopped)
[no-exit-message]
rl-pocket *args: setup
    @{{ python }} -m scripts.studies rl-pocket "$@"

# Study: search and values where statements need depth: RL, without values, best-first, ten times the search (resumes where it stopped)
[no-exit-message]
depth *args: setup
    @{{ python }} -m scripts.studies depth "$@"

# Study: what the parts of reinforcement learning are worth, in eight runs of 15 minutes on one core (resumes where it stopped)
[no-exit-message]
rl-ablations *args: setup
    @{{ python }} -m scripts.studies rl-ablations "$@"

# Study: self-play and expert iteration, with a picture (--seeds 0 1; resumes where it stopped)
[no-exit-message]
stp-pocket *args: setup
    @{{ python }} -m scripts.studies stp-pocket "$@"

# Study: self-play without one of its parts, four runs of about 15 minutes on one core (resumes where it stopped)
[no-exit-message]
stp-ablations *args: setup
    @{{ python }} -m scripts.studies stp-ablations "$@"

# Train a small Llama on the bank's proofs in minutes, in Hugging Face format: just small-llama FOLDER (--lora BASE)
[no-exit-message]
small-llama *args: setup
    @{{ python }} -m scripts.small_llama "$@"
