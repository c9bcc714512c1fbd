"""Further ufuncs of `scipy.special` as one op, whose parameter names the function; it gives all results of a call.

Carlson's integrals with raised exponents stand beside it. They are closed under derivatives, so all elliptic integrals
have derivatives of any order.
"""

from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta
from anyshape.ops import elementwise as ew
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import apply, apply_all

_ROWS = """
    1 1 bei beip ber berp cosdg cosm1 cotdg dawsn erfcinv erfi erfinv exp1 exp10 expi exprel it2struve0 itmodstruve0
        itstruve0 kei keip ker kerp kolmogi kolmogorov loggamma logit ndtri_exp sindg spence tandg wrightomega zetac;
    1 2 fresnel it2i0k0 it2j0y0 iti0k0 itj0y0 shichi sici;
    1 4 airy airye itairy kelvin;
    2 1 agm boxcox boxcox1p chdtr chdtrc chdtri chdtriv eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_hermite
        eval_hermitenorm eval_laguerre eval_legendre eval_sh_chebyt eval_sh_chebyu eval_sh_legendre hankel1 hankel1e
        hankel2 hankel2e inv_boxcox inv_boxcox1p jve mathieu_a mathieu_b modstruve pdtr pdtrc pdtri pdtrik powm1
        smirnov smirnovi spherical_in spherical_jn spherical_kn spherical_yn stdtridf struve tklmbda yn yve;
    2 2 pbdv pbvv pbwa;
    2 4 ellipj;
    3 1 bdtri bdtrik bdtrin besselpoly btdtria btdtrib chndtr chndtridf chndtrinc chndtrix elliprg eval_gegenbauer
        eval_genlaguerre fdtr fdtrc fdtri fdtridfd gdtr gdtrc gdtria gdtrib gdtrix hyperu log_wright_bessel lpmv
        nbdtri nbdtrik nbdtrin nctdtr nctdtridf nctdtrinc nctdtrit nrdtrimn nrdtrisd obl_cv pro_cv radian
        voigt_profile wright_bessel;
    3 2 mathieu_cem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 mathieu_sem;
    4 1 elliprj eval_jacobi eval_sh_jacobi ncfdtr ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc;
    4 2 obl_ang1 obl_rad1 obl_rad2 pro_ang1 pro_rad1 pro_rad2;
    5 2 obl_ang1_cv obl_rad1_cv obl_rad2_cv pro_ang1_cv pro_rad1_cv pro_rad2_cv
"""  # the numbers of operands and of results, and names
FUNCTIONS: dict[str, tuple[int, int]] = {
    name: (int(nin), int(nout)) for nin, nout, *names in map(str.split, _ROWS.split(";")) for name in names
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
