package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
)

// SaslHandshake, versions 0 and 1, and SaslAuthenticate, versions 0 to 2, as on any
// PLAINTEXT listener of Kafka's: who wants to authenticate is told that there is nothing to
// authenticate for. Without an answer clients take it for a network fault and go on trying.

func (a *API) saslHandshake(c *call) {
	var req kmsg.SASLHandshakeRequest
	if !c.decode(&req) {
		return
	}
	resp := kmsg.NewPtrSASLHandshakeResponse()
	resp.ErrorCode, resp.SupportedMechanisms = int16(kafkaerr.IllegalSaslState), []string{}
	c.respond(resp)
}

func (a *API) saslAuthenticate(c *call) {
	var req kmsg.SASLAuthenticateRequest
	if !c.decode(&req) {
		return
	}
	resp := kmsg.NewPtrSASLAuthenticateResponse()
	text := "SaslAuthenticate request received after successful authentication"
	resp.ErrorCode, resp.ErrorMessage, resp.SASLAuthBytes = int16(kafkaerr.IllegalSaslState), &text, []byte{}
	c.respond(resp)
}
