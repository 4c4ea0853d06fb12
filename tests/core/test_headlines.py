"""Headlines of one run: against the log of the run itself, limits, and counting by hand."""

from __future__ import annotations

import numpy as np
import pytest

from core.devices import DEVICES
from core.headlines import Traffic, cold_run, salt_hit_rate, salted_names, warm_run
from core.models import MODELS
from core.roofline import step_costs
from core.scenario import Scenario
from core.scheduling import simulate

S = Scenario(MODELS["8B"], DEVICES["A100"])
TRAFFIC = Traffic(requests=40)


def test_the_headlines_are_read_off_the_schedule_token_by_token() -> None:
    run = simulate(TRAFFIC.stream(), S)
    gaps = np.concatenate([run.itl_of(i)[1] for i in range(40)])
    found = cold_run(S, TRAFFIC)
    assert found.mean_ttft_s == pytest.approx(np.mean(run.ttft_s))
    assert found.p99_ttft_s == pytest.approx(np.percentile(run.ttft_s, 99))
    assert found.mean_itl_s == pytest.approx(gaps.mean())
    assert found.p99_itl_s == pytest.approx(np.percentile(gaps, 99))
    assert found.user_token_per_s == pytest.approx(1 / gaps.mean())
    assert found.answer_token == gaps.size + 40
    assert np.all(np.diff(found.ttft_s) >= 0)
    last = run.columns()["finish_s"].max()
    first = run.columns()["arrival"][0]
    assert found.device_token_per_s == pytest.approx((gaps.size + 40) / (last - first))


def test_a_quiet_server_answers_in_one_step_of_the_roofline() -> None:
    """So few arrivals that nobody waits: TTFT is the prefill alone, cold or warm."""
    quiet = Traffic(requests=8, rate_per_s=0.001, prefix_token=1024, own_token=64)
    prompts = quiet.stream().prompt_token
    cold = step_costs(S, prefill_tokens=prompts).time_s
    warm = step_costs(S, prefill_tokens=prompts[1:] - 1024, prefill_offset=1024).time_s
    assert cold_run(S, quiet).mean_ttft_s == pytest.approx(cold.mean())
    assert warm_run(S, quiet).mean_ttft_s == pytest.approx((cold[0] + warm.sum()) / 8)


def test_the_requests_are_the_same_whatever_the_prefix_and_the_rate() -> None:
    one, other = Traffic(prefix_token=0).stream(), Traffic(rate_per_s=8.0).stream()
    assert other.prompt_token.tolist() == (one.prompt_token + 2048).tolist()
    assert other.output_token.tolist() == one.output_token.tolist()
    assert other.arrival == pytest.approx(one.arrival / 2)


@pytest.mark.parametrize("groups", [1, 2, 10, 40])
def test_the_run_hits_as_often_as_counting_says(groups: int) -> None:
    assert warm_run(S, TRAFFIC, groups=groups).hit_rate == pytest.approx(
        salt_hit_rate(TRAFFIC, groups)
    )


def test_each_group_pays_for_the_prefix_once() -> None:
    prompts = TRAFFIC.stream().prompt_token.sum()
    assert salt_hit_rate(TRAFFIC, 1) == pytest.approx(39 * 2048 / prompts)
    assert salt_hit_rate(TRAFFIC, 10) == pytest.approx(30 * 2048 / prompts)
    assert salt_hit_rate(TRAFFIC, 40) == 0


def test_a_group_for_each_request_makes_a_warm_server_a_cold_one() -> None:
    warm, cold = warm_run(S, TRAFFIC, groups=40), cold_run(S, TRAFFIC)
    assert warm.hit_rate == 0
    assert warm.mean_ttft_s == pytest.approx(cold.mean_ttft_s)
    assert warm.p99_itl_s == pytest.approx(cold.p99_itl_s)


def test_a_warm_cache_shortens_the_mean_and_the_percentile() -> None:
    warm, cold = warm_run(S, TRAFFIC), cold_run(S, TRAFFIC)
    assert warm.mean_ttft_s < cold.mean_ttft_s / 5
    assert warm.p99_ttft_s < cold.p99_ttft_s


def test_more_load_gives_the_device_more_and_each_user_less() -> None:
    slow, fast = (cold_run(S, Traffic(requests=40, rate_per_s=rate)) for rate in (1.0, 6.0))
    assert fast.device_token_per_s > slow.device_token_per_s
    assert fast.user_token_per_s < slow.user_token_per_s


def test_throughput_per_device_divides_by_the_devices() -> None:
    four = Scenario(S.model, S.device, 4)
    run = simulate(TRAFFIC.stream(), four)
    tokens = TRAFFIC.stream().output_token.sum()
    assert cold_run(four, TRAFFIC).device_token_per_s == pytest.approx(tokens / run.duration_s / 4)


def test_salts_keep_prefixes_apart_and_requests_of_a_group_together() -> None:
    assert salted_names([[0, 1], [0], [0, 1]], 2) == [[0, 2], [1], [0, 2]]
    names = salted_names([range(5)] * 6, 3)
    assert names[0] == names[3]
    assert not set(names[0]) & set(names[1])


def test_what_does_not_fit_or_cannot_be_cached_is_said() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        cold_run(Scenario(MODELS["70B"], DEVICES["A100"]), TRAFFIC)
    with pytest.raises(ValueError, match="windows or states"):
        warm_run(Scenario(MODELS["Gemma-2-9B"], DEVICES["A100"]), TRAFFIC)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("requests", 1),
        ("rate_per_s", 0.0),
        ("prefix_token", -1),
        ("own_token", 0),
        ("answer_token", 0),
        ("seed", -1),
    ],
)
def test_bad_traffic_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        Traffic(**{field: value})  # type: ignore[arg-type]


def test_more_groups_than_requests_are_refused() -> None:
    with pytest.raises(ValueError, match="groups"):
        warm_run(S, TRAFFIC, groups=41)
