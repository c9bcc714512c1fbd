"""Further ufuncs of `scipy.special` as one op, whose parameter names the function; it gives all results of a call.

Carlson's integrals with raised exponents stand beside it. They are closed under derivatives, so all elliptic integrals
have derivatives of any order.
"""

import inspect
from typing import Any

import numpy as np
import scipy.special as sc

from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta
from anyshape.ops import elementwise as ew
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import apply, apply_all

_NAMES = """
    agm airy airye bdtri bdtrik bdtrin bei beip ber berp besselpoly boxcox boxcox1p btdtria btdtrib chdtr chdtrc chdtri
    chdtriv chndtr chndtridf chndtrinc chndtrix cosdg cosm1 cotdg dawsn ellipj elliprg elliprj erfcinv erfi erfinv
    eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_gegenbauer eval_genlaguerre eval_hermite eval_hermitenorm
    eval_jacobi eval_laguerre eval_legendre eval_sh_chebyt eval_sh_chebyu eval_sh_jacobi eval_sh_legendre exp1 exp10
    expi exprel fdtr fdtrc fdtri fdtridfd fresnel gdtr gdtrc gdtria gdtrib gdtrix hankel1 hankel1e hankel2 hankel2e
    hyperu inv_boxcox inv_boxcox1p it2i0k0 it2j0y0 it2struve0 itairy iti0k0 itj0y0 itmodstruve0 itstruve0 jve kei keip
    kelvin ker kerp kolmogi kolmogorov log_wright_bessel loggamma logit lpmv mathieu_a mathieu_b mathieu_cem
    mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 mathieu_sem modstruve nbdtri nbdtrik nbdtrin ncfdtr
    ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc nctdtr nctdtridf nctdtrinc nctdtrit ndtri_exp nrdtrimn nrdtrisd obl_ang1
    obl_ang1_cv obl_cv obl_rad1 obl_rad1_cv obl_rad2 obl_rad2_cv pbdv pbvv pbwa pdtr pdtrc pdtri pdtrik powm1 pro_ang1
    pro_ang1_cv pro_cv pro_rad1 pro_rad1_cv pro_rad2 pro_rad2_cv radian shichi sici sindg smirnov smirnovi spence
    stdtridf struve tandg tklmbda voigt_profile wright_bessel wrightomega yn yve zetac
"""
# with `SCIPY_ARRAY_API=1` SciPy has functions around its ufuncs
_UFUNCS = {name: inspect.unwrap(getattr(sc, name)) for name in _NAMES.split()}
# name: the numbers of operands and of results
FUNCTIONS: dict[str, tuple[int, int]] = {
    **{name: (ufunc.nin, ufunc.nout) for name, ufunc in _UFUNCS.items()},
    **dict.fromkeys(("spherical_in", "spherical_jn", "spherical_kn", "spherical_yn"), (2, 1)),
}
COMPLEX = frozenset(["hankel1", "hankel1e", "hankel2", "hankel2e", "loggamma"])  # functions of a complex last operand


def _result_types(
    ctx: ShapeGuardContext, x: TensorMeta, *others: TensorMeta, function: str
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Require one dtype of all operands, which results have too. The results of `kelvin` are complex."""
    count = FUNCTIONS[function][1]
    result = ew.same_type(ctx, x, *others)
    if function == "kelvin":
        result = TensorMeta(np.dtype(x.dtype.char.upper()), x.extents)
    return result if count == 1 else (result,) * count


special_ufunc_op: Op = ew.define_pointwise(
    "special_ufunc",
    _result_types,
    (1, 5),
    family="special_ufuncs",
    jointly=lambda node, params: len(node.inputs) == FUNCTIONS[params["function"]][0],
    function=kinds.one_of(*FUNCTIONS),
)
carlson_integral_op: Op = ew.define_pointwise(
    "carlson_integral",
    ew.same_type,
    (4, 4),
    family="special_ufuncs",
    orders=lambda node, param: (
        isinstance(param, tuple) and len(param) == 4 and all(kinds.order(node, order) for order in param)
    ),
)


def special_ufuncs(function: str, *xs: Any) -> tuple[Any, ...]:
    """Return all results of the ufunc of `scipy.special` with this name; operands broadcast."""
    operands = ew.broadcast_operands(function, *xs) if len(xs) > 1 else xs
    return apply_all(special_ufunc_op, *operands, function=function)


def special_ufunc(function: str, *xs: Any, result: int = 0) -> Any:
    """Return a result of the ufunc of `scipy.special` with this name; see `special_ufuncs`."""
    return special_ufuncs(function, *xs)[result]


def carlson_integral(orders: tuple[int, int, int, int], x: Any, y: Any, z: Any, p: Any) -> Any:
    """Return the integral from 0 to infinity of a product of powers of t + x, t + y, t + z and t + p.

    The exponents are -1/2 - i, -1/2 - j, -1/2 - k and -l for the orders (i, j, k, l). All sums are positive for t > 0.
    """
    return apply(carlson_integral_op, *ew.broadcast_operands("carlson_integral", x, y, z, p), orders=orders)
