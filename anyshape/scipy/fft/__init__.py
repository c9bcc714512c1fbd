"""Functions of `scipy.fft` for traced and concrete arrays, at any size.

Concrete arguments go to SciPy itself. Numbers of points may be symbolic. What has no counterpart here is SciPy's own,
and refuses traced arrays by name.
"""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_fft

_SERVED = Module(
    scipy_fft,
    "scipy.fft",
    own={"transforms": "fftfreq rfftfreq"},
    through={
        "transforms": (
            "dct dctn dst dstn fft fft2 fftn fftshift fht fhtoffset hfft hfft2 hfftn idct idctn idst idstn ifft ifft2 "
            "ifftn ifftshift ifht ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft rfft2 rfftn"
        )
    },
)
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names
