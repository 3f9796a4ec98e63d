"""One machine: Redis, the services and Envoy under one supervisor (`make run`), also for tests (`stack.Stack`)."""
