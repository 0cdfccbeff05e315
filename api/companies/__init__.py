"""The company itself: who asks (`/me`), its profile, its sandbox, and `pcds company`."""
