"""Attacks: random programs, states, files, threads and pickles, compared with eager NumPy for as long as one likes."""
