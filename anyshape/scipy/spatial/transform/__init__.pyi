"""Rotations of `scipy.spatial.transform`, traced or concrete.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from scipy.spatial.transform import RigidTransform as RigidTransform
from scipy.spatial.transform import RotationSpline as RotationSpline

from anyshape.scipy.spatial.transform.rotations import Rotation as Rotation
from anyshape.scipy.spatial.transform.rotations import Slerp as Slerp
