"""What a model answers to the questions of views, as data; `live/` answers the same in a page, in JavaScript."""
