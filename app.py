"""`panel serve app.py`: the page."""

import panel as pn

from widgets import page, server

pn.extension(design="native", reconnect=True)
page.serve(server.tune)
