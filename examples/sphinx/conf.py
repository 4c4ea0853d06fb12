"""sphinx-build . _build"""

project = "Serving, lecture notes"
html_theme = "alabaster"
