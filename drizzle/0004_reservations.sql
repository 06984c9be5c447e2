-- What pays for and orders a transaction is a gas coin or a nonce (a resource), taken by a reservation.
ALTER TABLE "ta_purses" RENAME TO "ta_reservations";--> statement-breakpoint
ALTER TABLE "ta_reservations" RENAME COLUMN "purse" TO "resource";--> statement-breakpoint
ALTER TABLE "ta_reservations" RENAME CONSTRAINT "ta_purses_pkey" TO "ta_reservations_pkey";--> statement-breakpoint
ALTER TABLE "ta_reservations" RENAME CONSTRAINT "ta_purses_request_id_unique" TO "ta_reservations_request_id_unique";--> statement-breakpoint
ALTER TABLE "ta_reservations" RENAME CONSTRAINT "ta_purses_request_id_ta_requests_id_fk" TO "ta_reservations_request_id_ta_requests_id_fk";--> statement-breakpoint
ALTER TABLE "ta_purse_uses" RENAME TO "ta_reservation_uses";--> statement-breakpoint
ALTER TABLE "ta_reservation_uses" RENAME COLUMN "purse" TO "resource";--> statement-breakpoint
ALTER TABLE "ta_reservation_uses" RENAME CONSTRAINT "ta_purse_uses_pkey" TO "ta_reservation_uses_pkey";--> statement-breakpoint
ALTER TABLE "ta_transactions" RENAME COLUMN "purse" TO "resource";
