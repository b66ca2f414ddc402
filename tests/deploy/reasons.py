UNCALLED_BY_DEPLOY: dict[str, str] = {}
UNCALLED_BY_PLAN: dict[str, str] = {}
