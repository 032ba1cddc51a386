"""Who answers? One module a family of providers, all over plain HTTP (docs/decisions/005-no-provider-sdks.md)."""
