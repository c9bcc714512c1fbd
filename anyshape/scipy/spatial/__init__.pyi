"""Functions of `scipy.spatial`: distances and rotations of traced arrays. SciPy's own names refuse these.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from scipy.spatial import ConvexHull as ConvexHull
from scipy.spatial import Delaunay as Delaunay
from scipy.spatial import HalfspaceIntersection as HalfspaceIntersection
from scipy.spatial import KDTree as KDTree
from scipy.spatial import QhullError as QhullError
from scipy.spatial import Rectangle as Rectangle
from scipy.spatial import SphericalVoronoi as SphericalVoronoi
from scipy.spatial import Voronoi as Voronoi
from scipy.spatial import cKDTree as cKDTree
from scipy.spatial import ckdtree as ckdtree
from scipy.spatial import convex_hull_plot_2d as convex_hull_plot_2d
from scipy.spatial import delaunay_plot_2d as delaunay_plot_2d
from scipy.spatial import distance_matrix as distance_matrix
from scipy.spatial import geometric_slerp as geometric_slerp
from scipy.spatial import kdtree as kdtree
from scipy.spatial import minkowski_distance as minkowski_distance
from scipy.spatial import minkowski_distance_p as minkowski_distance_p
from scipy.spatial import procrustes as procrustes
from scipy.spatial import qhull as qhull
from scipy.spatial import tsearch as tsearch
from scipy.spatial import voronoi_plot_2d as voronoi_plot_2d

from anyshape.scipy.spatial import distance as distance
from anyshape.scipy.spatial import transform as transform
