// SPDX-License-Identifier: UNLICENSED
pragma solidity ^0.8.28;

import {ForceTransfers, SecurityToken} from "./SecurityToken.sol";
import {SingleTransfers} from "./SecurityTokenV4.sol";

/// Generation 5: token types, vesting mints, no transfer groups.
contract SecurityTokenV5 is SingleTransfers {
    event TokenTypeMinted(address indexed to, uint256 amount, uint256 indexed tokenType, uint256 timestamp);
    event TokenTypeTransferred(
        address indexed from,
        address indexed to,
        uint256 amount,
        uint256 indexed tokenType
    );
    event TokenTypeBurned(address indexed from, uint256 amount, uint256 indexed tokenType);

    /// Of whatever is minted without a type. What a wallet holds is one holding here, and logged as of
    /// this type when it moves.
    uint256 private constant TYPE = 1;

    struct HoldingFunding {
        address to;
        uint256 amount;
        uint256 commencementTimestamp;
        uint256 scheduleId;
        uint256 holdingIndex;
    }

    string public constant contractVersion = "5.0.0";

    constructor(
        string memory name_,
        string memory symbol_,
        uint8 decimals_,
        uint256 supply
    ) SecurityToken(name_, symbol_, decimals_, supply) {}

    function mintReleaseSchedule(
        address to,
        uint256 amount,
        uint256 commencementTimestamp,
        uint256 scheduleId,
        address[] calldata cancelableBy
    ) external returns (bool) {
        mintGrant(to, amount, commencementTimestamp, scheduleId, cancelableBy);
        return true;
    }

    function batchMintReleaseSchedule(
        address[] calldata to,
        uint256[] calldata amounts,
        uint256[] calldata commencementTimestamps,
        uint256[] calldata scheduleIds,
        address[] calldata cancelableBy
    ) external returns (bool) {
        for (uint256 i = 0; i < to.length; i++) {
            mintGrant(to[i], amounts[i], commencementTimestamps[i], scheduleIds[i], cancelableBy);
        }
        return true;
    }

    /// Token types of vesting mints are kept with the grant and not logged.
    function mintReleaseScheduleTokenType(
        address to,
        uint256 amount,
        uint256 commencementTimestamp,
        uint256 scheduleId,
        uint256,
        address[] calldata cancelableBy
    ) external returns (bool) {
        mintGrant(to, amount, commencementTimestamp, scheduleId, cancelableBy);
        return true;
    }

    function batchMintReleaseScheduleTokenType(
        address[] calldata to,
        uint256[] calldata amounts,
        uint256[] calldata commencementTimestamps,
        uint256[] calldata scheduleIds,
        uint256[] calldata,
        address[] calldata cancelableBy
    ) external returns (bool) {
        for (uint256 i = 0; i < to.length; i++) {
            mintGrant(to[i], amounts[i], commencementTimestamps[i], scheduleIds[i], cancelableBy);
        }
        return true;
    }

    function mintTokenType(address to, uint256 amount, uint256 tokenType) external only(RESERVE_ADMIN) {
        totalSupply += amount;
        simple[to] += amount;
        super.logMint(to, amount);
        emit TokenTypeMinted(to, amount, tokenType, block.timestamp);
    }

    function fundReleaseScheduleWithHolding(
        HoldingFunding calldata funding,
        address[] calldata cancelableBy
    ) external returns (bool) {
        fundWithHolding(funding, cancelableBy);
        return true;
    }

    function batchFundReleaseScheduleWithHolding(
        HoldingFunding[] calldata fundings,
        address[] calldata cancelableBy
    ) external returns (bool) {
        for (uint256 i = 0; i < fundings.length; i++) fundWithHolding(fundings[i], cancelableBy);
        return true;
    }

    function transferHolding(address to, uint256 amount, uint256) external returns (bool) {
        send(msg.sender, to, amount);
        return true;
    }

    function softBurn(address from, uint256 amount) external {
        burnSimple(from, amount);
    }

    function burnHolding(address from, uint256 amount, uint256) external {
        burnSimple(from, amount);
    }

    function burnSimple(address from, uint256 amount) private only(RESERVE_ADMIN) {
        require(simple[from] >= amount, "grants cannot be burned");
        totalSupply -= amount;
        simple[from] -= amount;
        logBurn(from, amount);
    }

    function fundWithHolding(HoldingFunding calldata funding, address[] calldata cancelableBy) private {
        fund(
            funding.to,
            funding.amount,
            funding.commencementTimestamp,
            funding.scheduleId,
            cancelableBy
        );
    }

    function mintGrant(
        address to,
        uint256 amount,
        uint256 commencementTimestamp,
        uint256 scheduleId,
        address[] calldata cancelableBy
    ) private only(RESERVE_ADMIN) {
        totalSupply += amount;
        uint256 id = openTimelock(to, amount, commencementTimestamp, scheduleId, cancelableBy);
        emit Transfer(address(0), to, amount);
        welcome(to);
        // The funder is the admin, although the tokens come from nowhere.
        emit ScheduleFunded(
            msg.sender,
            to,
            scheduleId,
            amount,
            commencementTimestamp,
            id,
            cancelableBy
        );
    }

    function logMint(address to, uint256 amount) internal override {
        super.logMint(to, amount);
        emit TokenTypeMinted(to, amount, TYPE, block.timestamp);
    }

    function logBurn(address from, uint256 amount) internal override {
        emit TokenTypeBurned(from, amount, TYPE);
        super.logBurn(from, amount);
    }

    function logSend(address from, address to, uint256 unlockedPart, uint256 simplePart) internal override {
        if (unlockedPart > 0) emit TokenTypeTransferred(from, to, unlockedPart, TYPE);
        if (simplePart > 0) emit TokenTypeTransferred(from, to, simplePart, TYPE);
        super.logSend(from, to, unlockedPart, simplePart);
    }

    function logFund(address from, address to, uint256 unlockedPart, uint256 simplePart) internal override {
        emit TokenTypeTransferred(from, to, unlockedPart + simplePart, TYPE);
        super.logFund(from, to, unlockedPart, simplePart);
    }

    function logClaim(address from, address to, uint256 amount) internal override {
        super.logClaim(from, to, amount);
        emit TokenTypeTransferred(from, to, amount, TYPE);
    }

    function logCancel(address target, address reclaimTo, uint256 canceled, uint256 paid) internal override {
        emit TokenTypeTransferred(target, reclaimTo, canceled, TYPE);
        super.logCancel(target, reclaimTo, canceled, paid);
    }
}

/// What generation 5 knows of a person instead of a transfer group.
contract IdentityRegistry {
    event RegionsSet(address indexed authority, address indexed owner, uint256[] regions);
    event RegionAdded(address indexed authority, address indexed owner, uint256 region);
    event RegionRemoved(address indexed authority, address indexed owner, uint256 region);
    event IdentityRemoved(address indexed authority, address indexed owner);

    function setRegions(address owner, uint256[] calldata regions) external {
        emit RegionsSet(msg.sender, owner, regions);
    }

    function addRegion(address owner, uint256 region) external {
        emit RegionAdded(msg.sender, owner, region);
    }

    function removeRegion(address owner, uint256 region) external {
        emit RegionRemoved(msg.sender, owner, region);
    }

    function removeIdentity(address owner) external {
        emit IdentityRemoved(msg.sender, owner);
    }
}
