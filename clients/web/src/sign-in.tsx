/** How a player signs in: at the issuer that the operator has configured, or with a token. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import { address } from "./address"
import { expired, restoreToken, signIn } from "./calls"
import { readIssuer, session } from "./session"
import { t } from "./texts"

/** Find out how players sign in here, and whether this one already is. */
export async function startSession(): Promise<void> {
  const issuer = await readIssuer()
  if (issuer) {
    const { openSession } = await import("./oidc")
    return openSession(issuer)
  }
  restoreToken()
  takeToken()
  addEventListener("hashchange", takeToken)
}

/** `#token=…` signs in, as in the address that `make web` prints, and leaves the address. */
function takeToken(): void {
  const given = /^#token=([\w.-]+)$/.exec(location.hash)?.[1]
  if (!given || !signIn(given)) return
  history.replaceState(null, "", "#/")
  address.value = "#/"
}

export function SignIn(): JSX.Element {
  return session.value ? <AtIssuer /> : <WithToken />
}

function AtIssuer(): JSX.Element {
  const [failed, setFailed] = useState(session.value!.failed)
  return (
    <form class="sign-in" onSubmit={(event) => {
      event.preventDefault()
      setFailed(false)
      session.value!.signIn().catch((error) => {
        console.warn("sign-in", error)
        setFailed(true)
      })
    }}>
      <h1>{t("title")}</h1>
      {expired.value && <p>{t("expired")}</p>}
      {failed && <p class="problem" role="alert">{t("signInFailed")}</p>}
      <button class="primary">{t("signIn")}</button>
    </form>
  )
}

function WithToken(): JSX.Element {
  const [bad, setBad] = useState(false)
  return (
    <form class="sign-in" onSubmit={(event) => {
      event.preventDefault()
      setBad(!signIn(String(new FormData(event.currentTarget).get("token")).trim()))
    }}>
      <h1>{t("title")}</h1>
      <p>{t(expired.value ? "expired" : "signInHint")}</p>
      <label>{t("token")} <input name="token" required autocomplete="off" spellcheck={false} /></label>
      {bad && <p class="problem" role="alert">{t("badToken")}</p>}
      <button class="primary">{t("signIn")}</button>
    </form>
  )
}
