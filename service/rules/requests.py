"""Check the fields of RulesService's requests. See `service.rpc.validation`."""

from durak.v1 import rules_service_pb2 as api
from service.rpc.validation import Faults, check_language, check_settings


def list_presets(request: api.ListPresetsRequest) -> None:
    """Check `language`."""
    faults = Faults()
    check_language(faults, request.language)
    faults.check()


def get_rule_sheet(request: api.GetRuleSheetRequest) -> None:
    """Check `settings` and `language`; unlike that of a new table, the series may be set."""
    faults = Faults()
    check_language(faults, request.language)
    if request.HasField("settings"):
        settings = request.settings
        if settings.series_id:
            faults.uuid("settings.series_id", settings.series_id)
        check_settings(faults, settings)
    else:
        faults.add("settings", "is required")
    faults.check()
