"""The process that answers AWS's API: moto's application, and what moto lacks put in front of it or in its place."""
