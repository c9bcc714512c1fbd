"""Distances of `scipy.spatial.distance` for traced and concrete arrays, at any size.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from scipy.spatial.distance import braycurtis as braycurtis
from scipy.spatial.distance import canberra as canberra
from scipy.spatial.distance import chebyshev as chebyshev
from scipy.spatial.distance import cityblock as cityblock
from scipy.spatial.distance import correlation as correlation
from scipy.spatial.distance import cosine as cosine
from scipy.spatial.distance import dice as dice
from scipy.spatial.distance import directed_hausdorff as directed_hausdorff
from scipy.spatial.distance import euclidean as euclidean
from scipy.spatial.distance import hamming as hamming
from scipy.spatial.distance import is_valid_dm as is_valid_dm
from scipy.spatial.distance import is_valid_y as is_valid_y
from scipy.spatial.distance import jaccard as jaccard
from scipy.spatial.distance import jensenshannon as jensenshannon
from scipy.spatial.distance import mahalanobis as mahalanobis
from scipy.spatial.distance import minkowski as minkowski
from scipy.spatial.distance import num_obs_dm as num_obs_dm
from scipy.spatial.distance import num_obs_y as num_obs_y
from scipy.spatial.distance import rogerstanimoto as rogerstanimoto
from scipy.spatial.distance import russellrao as russellrao
from scipy.spatial.distance import seuclidean as seuclidean
from scipy.spatial.distance import sokalsneath as sokalsneath
from scipy.spatial.distance import sqeuclidean as sqeuclidean
from scipy.spatial.distance import yule as yule

from anyshape.scipy.spatial.distance.metrics import cdist as cdist
from anyshape.scipy.spatial.distance.metrics import pdist as pdist
from anyshape.scipy.spatial.distance.metrics import squareform as squareform
