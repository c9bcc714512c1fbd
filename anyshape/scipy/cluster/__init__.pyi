"""Functions of `scipy.cluster`: vector quantisation of traced arrays, and SciPy's own names.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from scipy.cluster import hierarchy as hierarchy

from anyshape.scipy.cluster import vq as vq
