"""What the course needs from the machine: devices, threads, files, checked arguments.

| module | holds |
|---|---|
| `ownership` | which files are ours, by what is in them; alone replaces and removes files |
| `arguments` | checks of what a caller gives: the sentences for wrong types, sizes, lengths and ids |
| `devices` | which device: CPU, CUDA or MPS |
| `threads` | how many threads of the CPU: one for a small model |
| `d2l_compat` | makes `from d2l import torch as d2l` work with current packages |
"""
