"""Secrets that are known by their form: keys, tokens and the addresses that are secrets."""

from __future__ import annotations

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder, any_of

# AKIAIOSFODNN7EXAMPLE   ghp_...   hf_...   eyJhbGciOi.eyJzdWIi.x   ssh-rsa AAAAB3Nza...
_SHAPE = lazy_re(
    r"(?<![A-Za-z0-9])(?P<value>"
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA|APKA|ABIA)[A-Z0-9]{10,16}(?![A-Z0-9])"
    r"|gh[pousr]_[A-Za-z0-9]{16,255}+|github_pat_[A-Za-z0-9_]{16,255}+"
    r"|gl(?:pat|rt|dt|cbt|ptt|ft|imt|oas|soat|agent|ffct)-[\w.-]{12,255}+"
    r"|xox[a-z]-[\w-]{8,255}+|xapp-[\w-]{8,255}+|wandb_v1_\w{16,255}+"
    r"|(?<!_.)hf_[A-Za-z0-9]{16,255}+|(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,255}+"
    r"|whsec_[\w+/=]{16,255}+|dapi[0-9a-f]{32}(?:-\d)?(?![0-9a-zA-Z])"
    r"|SG\.[\w-]{16,100}+\.[\w-]{16,100}+"
    r"|sk-(?=[A-Za-z_-]{0,80}\d)[A-Za-z0-9_-]{20,255}+|AIza[\w-]{30,255}+|ya29\.[\w-]{16,255}+"
    r"|(?<!_.)npm_[A-Za-z0-9]{30,255}+|pypi-[\w-]{16,255}+|nvapi-[\w-]{16,255}+"
    r"|dop_v1_[0-9a-f]{32,255}+|hvs\.[\w-]{16,255}+|AGE-SECRET-KEY-[A-Z0-9]{16,255}+"
    r"|eyJ[\w-]{8,8000}+\.[\w-]{8,8000}+(?:\.[\w-]{0,8000}+)?"
    r"|(?<=ssh-rsa )AAAA[\w+/]{16,8000}+={0,2}|(?<=ssh-ed25519 )AAAA[\w+/]{16,8000}+={0,2}"
    r"|(?<=-nistp\d{3} )AAAA[\w+/]{16,8000}+={0,2})"
)
_SHAPE_NEEDS = (
    *("akia", "asia", "agpa", "aida", "aroa", "apka", "abia", "ghp_", "gho_", "ghu_", "ghs_"),
    *("ghr_", "github_pat_", "glpat-", "glrt-", "gldt-", "glcbt-", "glptt-", "glft-", "glimt-"),
    *("gloas-", "glsoat-", "glagent-", "glffct-", "xox", "xapp-", "wandb_v1_", "hf_", "k_live_"),
    *("k_test_", "whsec_", "dapi", "sg.", "sk-", "aiza", "ya29.", "npm_", "pypi-", "nvapi-"),
    *("dop_v1_", "hvs.", "age-secret", "eyj", " aaaa"),
)
# AC0123...   SK0123...   32 digits
_TWILIO = lazy_re(r"(?<![A-Za-z0-9])(?P<value>(?:AC|SK)[0-9a-f]{32})(?![A-Za-z0-9])")
_TWILIO_HINT = lazy_re(r"[CK][0-9a-f]{32}")
# hooks.slack.com/services/T000/B000/xxxx   x.webhook.office.com/webhookb2/...
_WEBHOOK = lazy_re(
    r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks"
    r"|\.webhook\.office\.com/webhookb2)/(?P<value>[\w/@-]{8,400}+)"
)
# api.telegram.org/bot123456:ABC-DEF/sendMessage
_BOT = lazy_re(r"/bot(?P<value>\d{4,20}:[\w-]{16,80}+)")

FINDERS = (
    Finder(_SHAPE_NEEDS, _SHAPE, any_of("token")),
    Finder(("ac", "sk"), _TWILIO, any_of("token"), hint=_TWILIO_HINT),
    Finder(("hooks.slack", "/webhooks/", "/webhookb2/"), _WEBHOOK, any_of("token")),
    Finder(("/bot",), _BOT, any_of("token")),
)
