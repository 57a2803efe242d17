"""RulesService: the presets, and the rules of a table in words. It needs no token."""

from domain.match.refusal import Refusal
from durak.v1 import rules_service_pb2 as api
from durak.v1 import rules_service_pb2_grpc as api_grpc
from service.rpc.call import Context, answer_language
from service.rpc.errors import Refused
from service.rules import requests
from service.rules.rule_sheets import RuleSheets


class RulesService(api_grpc.RulesServiceServicer):
    """The servicer. The interceptor turns its exceptions into a status."""

    def __init__(self, sheets: RuleSheets) -> None:
        """Serve these sheets."""
        self._sheets = sheets

    async def ListPresets(
        self, request: api.ListPresetsRequest, context: Context
    ) -> api.ListPresetsResponse:
        """Return all presets."""
        requests.list_presets(request)
        language = answer_language(request.language)
        return api.ListPresetsResponse(presets=self._sheets.presets(language), language=language)

    async def GetRuleSheet(
        self, request: api.GetRuleSheetRequest, context: Context
    ) -> api.GetRuleSheetResponse:
        """Return the rule sheet of a table."""
        requests.get_rule_sheet(request)
        language = answer_language(request.language)
        sheet = self._sheets.sheet(request.settings, language)
        if isinstance(sheet, Refusal):
            raise Refused(sheet)
        return api.GetRuleSheetResponse(sheet=sheet)
