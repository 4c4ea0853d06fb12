"""The plain way, for the ratio only: a bound function that returns new figures."""

import numpy as np
import panel as pn
from bokeh.plotting import figure

from core import roofline
from core.devices import DEVICES
from core.models import MODELS
from core.scenario import Scenario

pn.extension()
scenario = Scenario(MODELS["8B"], DEVICES["A100"])
batch = pn.widgets.IntSlider(name="batch", start=1, end=512, value=32)
context = pn.widgets.IntSlider(name="context", start=128, end=8192, value=2048)


def charts(size: int, tokens: int) -> pn.Row:
    """Both charts of section 1, built anew."""
    sweep = roofline.step_costs(scenario, decode_batch=np.arange(1, 257), context=tokens)
    roof = figure(height=300, width=420, x_axis_type="log", y_axis_type="log")
    roof.line(sweep.intensity_flop_per_byte, sweep.achieved_flop_per_s / 1e12)
    time = figure(height=300, width=420)
    for line in (sweep.memory_s, sweep.compute_s, sweep.time_s):
        time.line(np.arange(1, 257), line * 1e3)
    point = roofline.step_costs(scenario, decode_batch=size, context=tokens)
    time.scatter([size], [float(point.time_s) * 1e3])
    return pn.Row(roof, time)


pn.Column(batch, context, pn.bind(charts, batch, context)).servable()
