"""Corpora beyond memory: lines that are read when they are needed, ids that are mapped from files.

| module | holds |
|---|---|
| `files` | text files as sequences that are read line by line |
| `sentences` | the ids of many sentences, end to end |
| `cache` | the ids of a large corpus in files, which processes share |
"""
