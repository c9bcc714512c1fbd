"""Functions of `scipy.fft` for traced and concrete arrays, at any size.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from scipy.fft import fht as fht
from scipy.fft import fhtoffset as fhtoffset
from scipy.fft import get_workers as get_workers
from scipy.fft import ifht as ifht
from scipy.fft import next_fast_len as next_fast_len
from scipy.fft import prev_fast_len as prev_fast_len
from scipy.fft import register_backend as register_backend
from scipy.fft import set_backend as set_backend
from scipy.fft import set_global_backend as set_global_backend
from scipy.fft import set_workers as set_workers
from scipy.fft import skip_backend as skip_backend

from anyshape.scipy.fft.complex_transforms import fft as fft
from anyshape.scipy.fft.complex_transforms import fft2 as fft2
from anyshape.scipy.fft.complex_transforms import fftfreq as fftfreq
from anyshape.scipy.fft.complex_transforms import fftn as fftn
from anyshape.scipy.fft.complex_transforms import fftshift as fftshift
from anyshape.scipy.fft.complex_transforms import hfft as hfft
from anyshape.scipy.fft.complex_transforms import hfft2 as hfft2
from anyshape.scipy.fft.complex_transforms import hfftn as hfftn
from anyshape.scipy.fft.complex_transforms import ifft as ifft
from anyshape.scipy.fft.complex_transforms import ifft2 as ifft2
from anyshape.scipy.fft.complex_transforms import ifftn as ifftn
from anyshape.scipy.fft.complex_transforms import ifftshift as ifftshift
from anyshape.scipy.fft.complex_transforms import ihfft as ihfft
from anyshape.scipy.fft.complex_transforms import ihfft2 as ihfft2
from anyshape.scipy.fft.complex_transforms import ihfftn as ihfftn
from anyshape.scipy.fft.complex_transforms import irfft as irfft
from anyshape.scipy.fft.complex_transforms import irfft2 as irfft2
from anyshape.scipy.fft.complex_transforms import irfftn as irfftn
from anyshape.scipy.fft.complex_transforms import rfft as rfft
from anyshape.scipy.fft.complex_transforms import rfft2 as rfft2
from anyshape.scipy.fft.complex_transforms import rfftfreq as rfftfreq
from anyshape.scipy.fft.complex_transforms import rfftn as rfftn
from anyshape.scipy.fft.real_transforms import dct as dct
from anyshape.scipy.fft.real_transforms import dctn as dctn
from anyshape.scipy.fft.real_transforms import dst as dst
from anyshape.scipy.fft.real_transforms import dstn as dstn
from anyshape.scipy.fft.real_transforms import idct as idct
from anyshape.scipy.fft.real_transforms import idctn as idctn
from anyshape.scipy.fft.real_transforms import idst as idst
from anyshape.scipy.fft.real_transforms import idstn as idstn
