"""Functions of `scipy.integrate` for traced and concrete arrays, at any size.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from scipy.integrate import BDF as BDF
from scipy.integrate import DOP853 as DOP853
from scipy.integrate import LSODA as LSODA
from scipy.integrate import RK23 as RK23
from scipy.integrate import RK45 as RK45
from scipy.integrate import DenseOutput as DenseOutput
from scipy.integrate import IntegrationWarning as IntegrationWarning
from scipy.integrate import ODEintWarning as ODEintWarning
from scipy.integrate import OdeSolution as OdeSolution
from scipy.integrate import OdeSolver as OdeSolver
from scipy.integrate import Radau as Radau
from scipy.integrate import complex_ode as complex_ode
from scipy.integrate import cubature as cubature
from scipy.integrate import cumulative_trapezoid as cumulative_trapezoid
from scipy.integrate import dop as dop
from scipy.integrate import lebedev_rule as lebedev_rule
from scipy.integrate import lsoda as lsoda
from scipy.integrate import newton_cotes as newton_cotes
from scipy.integrate import nsum as nsum
from scipy.integrate import ode as ode
from scipy.integrate import odepack as odepack
from scipy.integrate import qmc_quad as qmc_quad
from scipy.integrate import quadpack as quadpack
from scipy.integrate import romb as romb
from scipy.integrate import solve_bvp as solve_bvp
from scipy.integrate import tanhsinh as tanhsinh
from scipy.integrate import trapezoid as trapezoid
from scipy.integrate import vode as vode

from anyshape.scipy.integrate.initial_value import odeint as odeint
from anyshape.scipy.integrate.initial_value import solve_ivp as solve_ivp
from anyshape.scipy.integrate.quadrature import cumulative_simpson as cumulative_simpson
from anyshape.scipy.integrate.quadrature import dblquad as dblquad
from anyshape.scipy.integrate.quadrature import fixed_quad as fixed_quad
from anyshape.scipy.integrate.quadrature import nquad as nquad
from anyshape.scipy.integrate.quadrature import quad as quad
from anyshape.scipy.integrate.quadrature import quad_vec as quad_vec
from anyshape.scipy.integrate.quadrature import simpson as simpson
from anyshape.scipy.integrate.quadrature import tplquad as tplquad
