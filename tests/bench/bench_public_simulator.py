"""Our policy for deadlines in a public simulator of the same problem, beside the policies that come with it.

    python tests/bench/bench_public_simulator.py --simulator DIR [--kind single|multi] [--traces N]

DIR is the folder `openevolve/examples/ADRS` of a clone of the repository lynnliu030/ADRS, with its archives of traces
unpacked as its READMEs say. Scenarios, prices and traces are those of its evaluators: each line is one of its
scenarios, and the last one is the average that it scores by. Writes runs/bench/public_simulator_KIND.json.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import json
import logging
import math
import re
import statistics
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from controller.decide.deadlines.expected_cost import expected_cost  # noqa: E402
from controller.decide.deadlines.seen import Seen  # noqa: E402
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, Job, OnDemand, Situation, Spot  # noqa: E402

FOLDERS = {"single": "cant-be-late", "multi": "cant-be-late-multi"}
OURS = "ours"
THEIRS = {
    "single": ("initial_greedy.py", "referenced_up.py", "rc_cr_threshold", "rc_1cr_threshold"),
    "multi": ("initial_program.py", "multi_region_rc_cr_threshold"),
}
"""Files and built-in strategies that come with it. Strategies that know the trace are left out."""


def our_strategy(kind: str) -> type:
    """Returns our policy as one of its strategies."""
    utils = importlib.import_module("sky_spot.utils")
    module, name = ("multi_strategy", "MultiRegionStrategy") if kind == "multi" else ("strategy", "Strategy")
    base = getattr(importlib.import_module(f"sky_spot.strategies.{module}"), name)

    class Ours(base):  # type: ignore[misc, valid-type]
        """The adapter: its state as a `Situation`, our `Choice` as one of its cluster types."""

        NAME = "centavo_expected_cost"

        def reset(self, env: Any, task: Any) -> None:
            super().reset(env, task)
            self._seen = Seen()

        def _step(self, last_cluster_type: Any, has_spot: bool) -> Any:
            del last_cluster_type
            work_s = self.task_duration - sum(self.task_done_time)
            if work_s <= 1e-3:
                return utils.ClusterType.NONE
            available = self.env.get_all_regions_spot_available() if kind == "multi" else [has_spot]
            self._seen = self._seen.after(available, self.env.gap_seconds)
            choice = expected_cost(self._situation(work_s, tuple(available)))
            if isinstance(choice, Spot):
                if kind == "multi":
                    self.env.switch_region(choice.pool)
                return utils.ClusterType.SPOT
            return utils.ClusterType.ON_DEMAND if isinstance(choice, OnDemand) else utils.ClusterType.NONE

        def _situation(self, work_s: float, available: tuple[bool, ...]) -> Situation:
            env = self.env
            left_s = self.remaining_restart_overhead if self._running() != WAIT else 0.0
            # The simulator takes over one step before on-demand has to begin: the job's time ends a step earlier.
            time_s = (math.floor((self.deadline - env.elapsed_seconds) / env.gap_seconds) - 1) * env.gap_seconds
            return Situation(self._job(), work_s, time_s, self._running(), left_s, available, self._seen)

        def _running(self) -> Choice:
            kinds = utils.ClusterType
            if self.env.cluster_type == kinds.SPOT:
                return Spot(self.env.get_current_region() if kind == "multi" else 0)
            return ON_DEMAND if self.env.cluster_type == kinds.ON_DEMAND else WAIT

        def _job(self) -> Job:
            pools = self.env.envs if kind == "multi" else [self.env]
            prices = [pool.get_constant_cost_map() for pool in pools]
            return Job(
                self.task_duration,
                (math.floor(self.deadline / self.env.gap_seconds) - 1) * self.env.gap_seconds,
                self.restart_overhead,
                self.env.gap_seconds,
                max(price[utils.ClusterType.ON_DEMAND] for price in prices),
                tuple(price[utils.ClusterType.SPOT] for price in prices),
            )

    return Ours


def strategy_named(name: str, folder: Path) -> type:
    """Returns a strategy that comes with the simulator: a file's, or a built-in one."""
    strategies = importlib.import_module("sky_spot.strategies.strategy")
    if not name.endswith(".py"):
        importlib.import_module(f"sky_spot.strategies.{name}")
        return strategies.Strategy.get(name)
    spec = importlib.util.spec_from_file_location(name.removesuffix(".py"), folder / name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    own = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    return next(one for one in own if issubclass(one, strategies.Strategy))


def single_runs(folder: Path, traces: int) -> Iterator[tuple[str, list[Path], float, float]]:
    """Yields the runs of its evaluator for one region: scenario, traces, deadline and change-over in hours."""
    for deadline in (52, 70, 92):
        for over in (0.02, 0.2, 0.4):
            base = folder / "simulator" / "data" / "real" / f"ddl=search+task=48+overhead={over:.2f}" / "real"
            for pool in ("us-west-2a_k80_1", "us-west-2b_k80_1", "us-west-2a_v100_1", "us-west-2b_v100_1"):
                found = sorted((base / pool / "traces" / "random_start").glob("*.json"), key=str)
                count = min(traces, len(found))
                for index in range(count):
                    path = found[round(index * (len(found) - 1) / max(1, count - 1))]
                    yield f"{pool} d=48 dl={deadline} o={over:.2f}", [path], deadline, over


def multi_runs(folder: Path, traces: int) -> Iterator[tuple[str, list[Path], float, float]]:
    """Yields the runs of its evaluator for several regions."""
    spec = importlib.util.spec_from_file_location("evaluator", folder / "evaluator.py")
    assert spec is not None and spec.loader is not None
    evaluator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(evaluator)
    for scenario in evaluator.FULL_TEST_SCENARIOS:
        for trace in scenario["traces"][:traces]:
            paths = [Path(evaluator.DATA_PATH) / region / trace for region in scenario["regions"]]
            yield scenario["name"], paths, evaluator.DEADLINE_HOURS, evaluator.RESTART_OVERHEAD_HOURS


def run(strategy: type, paths: list[Path], deadline_h: float, over_h: float) -> tuple[float, bool]:
    """Runs a job in the simulator, and returns its cost in US dollars and whether it was late."""
    env_lib, simulate = importlib.import_module("sky_spot.env"), importlib.import_module("sky_spot.simulate")
    task = importlib.import_module("sky_spot.task").SingleTask({"duration": 48, "checkpoint_size_gb": 50.0})
    args = argparse.Namespace(
        deadline_hours=deadline_h, restart_overhead_hours=[over_h], inter_task_overhead=[0.0], keep_on_demand=None
    )
    names = [str(path) for path in paths]
    env = env_lib.MultiTraceEnv(names, 0) if len(paths) > 1 else env_lib.TraceEnv(names[0], 0)
    with contextlib.redirect_stdout(io.StringIO()):
        one = strategy(args)
        one.reset(env, task)
        simulate._simulate_one(env, one)
    steps = max(step for step, done_s in enumerate(one.task_done_time) if done_s > 0)
    return float(env.accumulated_cost), steps * env.gap_seconds > deadline_h * 3600 + 1


def cell(values: list[float]) -> str:
    """Returns average and spread as its evaluator prints them."""
    return f"${statistics.mean(values):.2f} ±{statistics.pstdev(values):.2f}"


def main() -> int:
    """Runs the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulator", type=Path, required=True, help="the folder openevolve/examples/ADRS of a clone")
    parser.add_argument("--kind", choices=FOLDERS, default="single", help="one region, or several")
    parser.add_argument("--traces", type=int, default=30, help="at most so many traces for a scenario")
    args = parser.parse_args()
    folder = args.simulator.resolve() / FOLDERS[args.kind]
    if not (folder / "simulator" / "data").is_dir():
        print(f"{folder}/simulator/data is missing: unpack real_traces.tar.gz there, see its README", file=sys.stderr)
        return 1
    sys.path.insert(0, str(folder / "simulator"))
    sys.modules.setdefault("wandb", types.SimpleNamespace(run=None))  # type: ignore[arg-type]
    sys.modules.setdefault("tqdm", types.SimpleNamespace(tqdm=lambda values, **_: values))  # type: ignore[arg-type]
    sys.modules.setdefault("pulp", types.ModuleType("pulp"))  # only strategies that know the trace need it
    strategies = folder / "simulator" / "sky_spot" / "strategies"
    for name in re.findall(r"import (\w+)$", (strategies / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE):
        if not (strategies / f"{name}.py").exists():  # commit 2d7047e imports strategies that it does not contain
            sys.modules.setdefault(f"sky_spot.strategies.{name}", types.ModuleType(name))
    logging.disable(logging.WARNING)
    rows, late = collect(args, folder)
    write(args, rows, late)
    return 0


def collect(args: argparse.Namespace, folder: Path) -> tuple[dict[str, dict[str, list[float]]], dict[str, int]]:
    """Returns the costs by scenario and strategy, and how often each was late. Prints a line for each scenario."""
    strategies = {name: strategy_named(name, folder) for name in THEIRS[args.kind]}
    strategies[OURS] = our_strategy(args.kind)
    runs: Callable[[Path, int], Iterator[Any]] = multi_runs if args.kind == "multi" else single_runs
    rows: dict[str, dict[str, list[float]]] = {}
    late = dict.fromkeys(strategies, 0)
    for scenario, paths, deadline_h, over_h in runs(folder, args.traces):
        if scenario not in rows and rows:
            tell(*list(rows.items())[-1])
        for name, strategy in strategies.items():
            cost, is_late = run(strategy, paths, deadline_h, over_h)
            late[name] += is_late
            rows.setdefault(scenario, {}).setdefault(name, []).append(cost)
    tell(*list(rows.items())[-1])
    return rows, late


def tell(scenario: str, costs: dict[str, list[float]]) -> None:
    """Prints a line for a scenario."""
    count = len(next(iter(costs.values())))
    print(f"{scenario} n={count}: " + ", ".join(f"{name} {cell(values)}" for name, values in costs.items()), flush=True)


def write(args: argparse.Namespace, rows: dict[str, dict[str, list[float]]], late: dict[str, int]) -> None:
    """Prints the average that the evaluator scores by, and writes the result."""
    names = next(iter(rows.values())).keys()
    if args.kind == "multi":  # it scores by the average over scenarios there, and over runs otherwise
        averages = {name: statistics.mean(statistics.mean(row[name]) for row in rows.values()) for name in names}
    else:
        averages = {name: statistics.mean(cost for row in rows.values() for cost in row[name]) for name in names}
    print("average cost: " + ", ".join(f"{name} ${usd:.2f} ({late[name]} late)" for name, usd in averages.items()))
    output = ROOT / "runs" / "bench" / f"public_simulator_{args.kind}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    scenarios = {key: {name: round(statistics.mean(c), 4) for name, c in row.items()} for key, row in rows.items()}
    result = {"traces": args.traces, "average_usd": averages, "late": late, "scenarios": scenarios}
    output.write_text(json.dumps(result, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    print(f"written: {output}")


if __name__ == "__main__":
    sys.exit(main())
