"""The page: a view-model and a view for each section, over `core`."""
