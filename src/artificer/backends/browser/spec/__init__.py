"""``[browser]`` as declared: keys, actions, scope, logins and envelopes."""
