"""Variables of the environment that hold secrets by convention.

Only names that mean a secret wherever they are set: ``AWS_SECRET_ACCESS_KEY``, and not
``AWS_DEFAULT_OUTPUT``. ``docs/guides/secrets.md`` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from artificer.secrets.made import looks_made

WELL_KNOWN = (
    # models
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"),
    *("GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "DEEPSEEK_API_KEY"),
    *("OPENROUTER_API_KEY", "TOGETHER_API_KEY", "XAI_API_KEY", "COHERE_API_KEY", "CO_API_KEY"),
    *("PERPLEXITY_API_KEY", "FIREWORKS_API_KEY", "REPLICATE_API_TOKEN", "HF_TOKEN"),
    *("HUGGING_FACE_HUB_TOKEN", "LANGSMITH_API_KEY", "WANDB_API_KEY"),
    # code and builds
    *("GITHUB_TOKEN", "GH_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITHUB_PAT"),
    *("GITLAB_TOKEN", "GITLAB_PRIVATE_TOKEN", "CI_JOB_TOKEN", "BITBUCKET_TOKEN", "GITEA_TOKEN"),
    *("CIRCLE_TOKEN", "BUILDKITE_AGENT_ACCESS_TOKEN", "SONAR_TOKEN", "CODECOV_TOKEN"),
    *("SENTRY_AUTH_TOKEN", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"),
    # packages
    *("NPM_TOKEN", "NODE_AUTH_TOKEN", "PYPI_TOKEN", "PYPI_API_TOKEN", "TWINE_PASSWORD"),
    *("UV_PUBLISH_TOKEN", "UV_PUBLISH_PASSWORD", "POETRY_PYPI_TOKEN_PYPI", "FLIT_PASSWORD"),
    *("CARGO_REGISTRY_TOKEN", "GEM_HOST_API_KEY", "NUGET_API_KEY", "DOCKER_PASSWORD"),
    *("DOCKERHUB_TOKEN", "DOCKER_AUTH_CONFIG"),
    # clouds
    *("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AZURE_CLIENT_SECRET"),
    *(
        "ARM_CLIENT_SECRET",
        "ARM_ACCESS_KEY",
        "AZURE_STORAGE_KEY",
        "AZURE_STORAGE_CONNECTION_STRING",
    ),
    *("DIGITALOCEAN_ACCESS_TOKEN", "CLOUDFLARE_API_TOKEN", "CLOUDFLARE_API_KEY", "HCLOUD_TOKEN"),
    *("LINODE_TOKEN", "HEROKU_API_KEY", "FLY_API_TOKEN", "NETLIFY_AUTH_TOKEN", "VERCEL_TOKEN"),
    *("RAILWAY_TOKEN", "PULUMI_ACCESS_TOKEN", "TFE_TOKEN", "VAULT_TOKEN", "BAO_TOKEN"),
    *("CONSUL_HTTP_TOKEN", "NOMAD_TOKEN", "OP_SERVICE_ACCOUNT_TOKEN", "DOPPLER_TOKEN"),
    # services
    *("SLACK_TOKEN", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_USER_TOKEN"),
    *("SLACK_SIGNING_SECRET", "SLACK_WEBHOOK_URL", "DISCORD_TOKEN", "DISCORD_BOT_TOKEN"),
    *("TELEGRAM_BOT_TOKEN", "TWILIO_AUTH_TOKEN", "SENDGRID_API_KEY", "MAILGUN_API_KEY"),
    *("POSTMARK_API_TOKEN", "STRIPE_SECRET_KEY", "STRIPE_API_KEY", "STRIPE_WEBHOOK_SECRET"),
    *("DD_API_KEY", "DD_APP_KEY", "NEW_RELIC_LICENSE_KEY", "HONEYCOMB_API_KEY"),
    *("NOTION_TOKEN", "NOTION_API_KEY", "LINEAR_API_KEY", "JIRA_API_TOKEN", "AIRTABLE_API_KEY"),
    *("BRAVE_API_KEY", "TAVILY_API_KEY", "SERPAPI_API_KEY"),
    # databases and applications
    *("PGPASSWORD", "POSTGRES_PASSWORD", "MYSQL_PWD", "MYSQL_PASSWORD", "MYSQL_ROOT_PASSWORD"),
    *("REDIS_PASSWORD", "MONGO_INITDB_ROOT_PASSWORD", "SNOWFLAKE_PASSWORD", "DATABRICKS_TOKEN"),
    *("SECRET_KEY", "DJANGO_SECRET_KEY", "SECRET_KEY_BASE", "JWT_SECRET", "RAILS_MASTER_KEY"),
    *("SSHPASS", "GPG_PASSPHRASE", "ANSIBLE_VAULT_PASSWORD", "KUBE_TOKEN"),
)
"""Variables whose whole value is a secret."""

WITH_PASSWORD = (
    "ARTIFICER_STORAGE",
    *("DATABASE_URL", "POSTGRES_URL", "POSTGRESQL_URL", "MYSQL_URL", "MONGODB_URI", "MONGO_URL"),
    *("REDIS_URL", "AMQP_URL", "RABBITMQ_URL", "CELERY_BROKER_URL", "SQLALCHEMY_DATABASE_URI"),
    *("ELASTICSEARCH_URL", "CLOUDAMQP_URL", "SMTP_URL", "MAILER_DSN"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"),
)
"""Variables that are URLs: the password in them is a secret."""


def well_known(environment: Mapping[str, str]) -> dict[str, str]:
    """The secrets of these variables by their names."""
    return {name: value for name, value in _found(environment) if looks_made(value)}


def _found(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in WELL_KNOWN:
        yield name, environment.get(name, "")
    for name in WITH_PASSWORD:
        yield name, _password(environment.get(name, ""))


def _password(url: str) -> str:
    try:
        return unquote(urlsplit(url).password or "")
    except ValueError:
        return ""
