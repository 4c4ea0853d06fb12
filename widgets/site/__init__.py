"""The static site: the same page with Python in the reader's own browser (`make site`).

`__main__` builds it. `browser`, `reader` and `turns` are what runs there.
"""
