"""Programs of rounded sizes, in the form that runs without CUDA: the one that is captured there."""

import torch

from node.inference.engine.lane import Program, rounded


def test_sizes_are_rounded_to_powers_of_four_within_the_limit() -> None:
    assert [rounded(number, 48) for number in (1, 2, 3, 8, 9, 33, 48)] == [1, 4, 4, 16, 16, 48, 48]


def test_a_program_reads_its_inputs_from_fixed_places() -> None:
    inputs = {"x": torch.zeros(3), "y": torch.zeros(3)}
    places = {name: tensor.data_ptr() for name, tensor in inputs.items()}
    program = Program(lambda tensors: tensors["x"] * 2 + tensors["y"], inputs)
    assert program({"x": torch.ones(3), "y": torch.arange(3.0)}).tolist() == [2, 3, 4]
    assert program({"x": torch.zeros(3), "y": torch.ones(3)}).tolist() == [1, 1, 1]
    assert {name: tensor.data_ptr() for name, tensor in program.inputs.items()} == places
