"""PyTorch's side of the bench: its own nn.Transformer, fused Adam, and DistributedDataParallel over gloo.

It runs eagerly, or as `torch.compile` makes it (Ansel et al., "PyTorch 2", ASPLOS 2024). The first steps, which are not
measured, compile it.
"""

from __future__ import annotations

import math
import os
import socket
import time
from contextlib import nullcontext
from typing import Any

import task
import torch
from torch import nn

ASKED = task.job()
SIZES = {"tiny": (4, 128, 256, 4, 0.3), "base": (6, 512, 2048, 8, 0.1)}


class Translation(nn.Module):
    """nn.Transformer with shared, tied embeddings and sinusoidal positions; gives the mean smoothed loss."""

    def __init__(self) -> None:
        super().__init__()
        layers, units, hidden, heads, dropout = SIZES[ASKED["preset"]]
        self.scale = math.sqrt(units)
        self.embedding = nn.Embedding(ASKED["vocabulary"], units)
        nn.init.normal_(self.embedding.weight, std=units**-0.5)
        self.bias = nn.Parameter(torch.zeros(ASKED["vocabulary"]))
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(units, heads, layers, layers, hidden, dropout, batch_first=True)
        angles = torch.arange(ASKED["length"] + 1)[:, None] / 10000 ** (torch.arange(0, units, 2) / units)
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], dim=1))
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(ASKED["length"]))

    def embed(self, ids: Any) -> Any:
        """ids (B, T) to (B, T, units)."""
        return self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.shape[1]])

    def forward(self, source: Any, target: Any) -> Any:
        """Returns the mean loss over the target tokens."""
        hidden = self.transformer(
            self.embed(source), self.embed(target[:, :-1]), tgt_mask=self.mask, tgt_is_causal=True
        )
        scores = nn.functional.linear(hidden, self.embedding.weight, self.bias).float()
        labels = target[:, 1:].reshape(-1)
        return nn.functional.cross_entropy(scores.reshape(labels.shape[0], -1), labels, label_smoothing=task.SMOOTHING)


def train(rank: int) -> None:
    """Trains the steps that were asked for and reports."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    made: Any = Translation()
    if ASKED["processes"] > 1:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=ASKED["processes"])
        made = nn.parallel.DistributedDataParallel(made)
    if ASKED["compiled"]:
        made = torch.compile(made)
    optimizer = torch.optim.Adam(made.parameters(), task.LEARNING_RATE, task.BETAS, task.EPSILON, fused=True)
    low = ASKED["precision"] == "bfloat16"

    def step(number: int) -> Any:
        source, target = (torch.from_numpy(array).long() for array in task.batch(ASKED, number, rank))
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16) if low else nullcontext():
            loss = made(source, target)
        loss.backward()
        optimizer.step()
        return loss

    for number in range(ASKED["warmup_steps"]):
        step(number)
    began, cpu_began = time.perf_counter(), time.process_time()
    for number in range(ASKED["steps"]):
        loss = step(ASKED["warmup_steps"] + number)
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    if rank == 0:
        task.report(ASKED, seconds, cpu_s, float(loss.detach()))


def main() -> None:
    """Starts one process, or as many as were asked for."""
    if ASKED["processes"] == 1:
        train(0)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.multiprocessing.spawn(train, nprocs=ASKED["processes"])


if __name__ == "__main__":
    main()
