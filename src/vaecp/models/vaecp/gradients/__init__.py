"""Members with a network, trained by the reparameterised evidence bound.

One compiled program trains several members side by side, on a CPU or a GPU.
"""
