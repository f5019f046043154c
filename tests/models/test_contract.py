"""Every registered method keeps the contract of `method_contract`."""

import pytest
from method_contract import MethodContract, small_model

from vaecp.models import registry

MODELS = {name: small_model(method) for name, method in registry.methods().items()}
del MODELS["VAECP.paper"]  # `VAECP` with settings that learn too slowly


@pytest.mark.parametrize("model", list(MODELS.values()), ids=list(MODELS))
class TestContract(MethodContract):
    pass
